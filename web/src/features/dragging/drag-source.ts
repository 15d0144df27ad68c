import type { ReadonlySignal } from '@preact/signals';
import type { Permissions } from '../../model/account/permissions.ts';
import type { Folder } from '../../model/folder/folder.ts';
import type { Selection } from '../../model/selection.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';
import { isRightToLeft } from '../../ui/direction.ts';
import './dragging.css';

/** Entries of the page that the user drags. */
export interface DraggedEntries {
  readonly paths: readonly string[];
  /** The element in which the drag began. It can be removed from the document during the drag. */
  readonly source: HTMLElement;
  /** A data type that identifies this drag: earlier drags and those of other windows have other types. */
  readonly type: string;
  /** Whether the user may move the entries; otherwise they are copied. */
  readonly canMove: boolean;
}

interface DragOptions {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly urls: Urls;
  readonly language: ReadonlySignal<Language>;
  readonly permissions: Permissions;
}

/** Starts to drag the entry of the event, together with the selection if it is selected. Returns null without an entry. */
export function startDrag(event: DragEvent, options: DragOptions): DraggedEntries | null {
  const { folder, selection, urls, language, permissions } = options;
  const { target, dataTransfer } = event;
  const source = target instanceof HTMLElement ? target.closest<HTMLElement>('[data-drag-path]') : null;
  const path = source?.draggable ? source.dataset['dragPath'] : undefined;
  const entry = path === undefined ? undefined : folder.entryOf(path);
  if (!source || !entry || !dataTransfer) return null;

  if (!selection.paths.value.has(entry.path)) selection.only(entry.path);
  const entries = selection.entries.value;
  const canMove = permissions.allows('read') && permissions.allows('manage');
  dataTransfer.effectAllowed = canMove ? 'copyMove' : 'copy';
  const type = `application/x-holdall.${crypto.getRandomValues(new Uint32Array(2)).join('.')}`;
  dataTransfer.setData(type, '');
  addLinks(dataTransfer, entries, urls);
  const label = entries.length === 1 ? entry.name : language.value.text.folder.items({ count: entries.length });
  showDragImage(dataTransfer, entries.every((each) => each.type === 'folder') ? 'folder' : 'file', label);
  return { paths: entries.map((each) => each.path), source, type, canMove };
}

/** Adds the data that other programs and the desktop read when the user drops the entries there. */
function addLinks(transfer: DataTransfer, entries: readonly Entry[], urls: Urls): void {
  const links = entries.map(({ type, path }) => (type === 'folder' ? urls.page(path) : urls.file(path)));
  transfer.setData('text/uri-list', links.join('\r\n'));
  transfer.setData('text/plain', links.join('\n'));
  const [only] = entries;
  if (entries.length !== 1 || only?.type !== 'file') return;
  // Chromium downloads the file to the drop location. Its format separates type, name and URL by colons.
  const [type = ''] = only.contentType.split(';');
  transfer.setData('DownloadURL', `${type}:${only.name.replaceAll(':', '_')}:${urls.download(only.path)}`);
}

/** Shows a label at the pointer during the drag. */
function showDragImage(transfer: DataTransfer, icon: 'folder' | 'file', label: string): void {
  const image = document.createElement('div');
  image.className = 'drag-image';
  image.setAttribute('aria-hidden', 'true');
  const name = document.createElement('bdi');
  name.textContent = label;
  image.append(createIcon(icon), name);
  document.body.append(image);
  transfer.setDragImage(image, isRightToLeft() ? image.offsetWidth : 0, 0);
  // The browser captures the element after the event.
  setTimeout(() => image.remove());
}

const SVG = 'http://www.w3.org/2000/svg';

function createIcon(name: string): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', `icon ${name}`);
  svg.setAttribute('viewBox', '0 0 20 20');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}
