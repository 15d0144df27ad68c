import type { ReadonlySignal } from '@preact/signals';
import type { Rights } from '../../model/account/rights.ts';
import type { Folder } from '../../model/folder/folder.ts';
import type { Selection } from '../../model/selection.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';
import { showDragImage } from './drag-image.ts';

/** Entries that are dragged. */
export interface Dragged {
  readonly paths: readonly string[];
  /** The element that the drag began at, which may be in the document no more while it lasts. */
  readonly source: HTMLElement;
  /** The type of data that marks this drag and no other: those of other windows, and earlier ones, have their own. */
  readonly type: string;
  /** Whether they may leave their folder; else they can only be copied. */
  readonly canMove: boolean;
}

interface BeginOptions {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly urls: Urls;
  readonly language: ReadonlySignal<Language>;
  readonly rights: Rights;
}

/** Begins to drag the entry that the event is at, with all that is selected where it is. */
export function beginDrag(event: DragEvent, options: BeginOptions): Dragged | null {
  const { folder, selection, urls, language, rights } = options;
  const { target, dataTransfer } = event;
  const source = target instanceof HTMLElement ? target.closest<HTMLElement>('[data-drag-path]') : null;
  const path = source?.draggable ? source.dataset['dragPath'] : undefined;
  const entry = path === undefined ? undefined : folder.entryOf(path);
  if (!source || !entry || !dataTransfer) return null;

  if (!selection.paths.value.has(entry.path)) selection.only(entry.path);
  const entries = selection.entries.value;
  const canMove = rights.may('read') && rights.may('manage');
  dataTransfer.effectAllowed = canMove ? 'copyMove' : 'copy';
  const mark = `application/x-holdall.${crypto.getRandomValues(new Uint32Array(2)).join('.')}`;
  dataTransfer.setData(mark, '');
  offerOutside(dataTransfer, entries, urls);
  const words = entries.length === 1 ? entry.name : language.value.text.folder.items({ count: entries.length });
  showDragImage(dataTransfer, entries.every(({ type }) => type === 'folder') ? 'folder' : 'file', words);
  return { paths: entries.map((each) => each.path), source, type: mark, canMove };
}

/** What other programs, and the desktop, get where entries are dropped on them. */
function offerOutside(transfer: DataTransfer, entries: readonly Entry[], urls: Urls): void {
  const links = entries.map(({ type, path }) => (type === 'folder' ? urls.page(path) : urls.file(path)));
  transfer.setData('text/uri-list', links.join('\r\n'));
  transfer.setData('text/plain', links.join('\n'));
  const [only] = entries;
  if (entries.length !== 1 || only?.type !== 'file') return;
  // Chromium alone: it downloads the file to where it is dropped. Colons part the three things that it is told.
  const [type = ''] = only.contentType.split(';');
  transfer.setData('DownloadURL', `${type}:${only.name.replaceAll(':', '_')}:${urls.download(only.path)}`);
}
