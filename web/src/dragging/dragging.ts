import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Rights } from '../access/rights.ts';
import { isMac } from '../actions/keys.ts';
import { isText } from '../actions/writing.ts';
import type { Changes } from '../changes/changes.ts';
import type { Folder } from '../folder/folder.ts';
import type { Location } from '../location.ts';
import type { Selection } from '../selection/selection.ts';
import type { Urls } from '../service/urls.ts';
import type { Language } from '../text/language.ts';
import type { Uploads } from '../uploads/uploads.ts';
import { createAutoScroll } from './auto-scroll.ts';
import { beginDrag, type Dragged } from './dragged-entries.ts';
import { canTake, isOnTheWay } from './drop-target.ts';
import { createSpring } from './spring.ts';

/**
 * Dragging entries of the page, and files from elsewhere onto it. Whatever bears `data-drop-folder` takes them, for the
 * folder of that path; whatever bears `data-drag-path` and is `draggable` can be dragged, with all that is selected
 * where it is one of these.
 */
export interface Dragging {
  /** What is dragged over the page; null while nothing is. */
  readonly what: ReadonlySignal<'entries' | 'files' | null>;
  /** The folder that would take it; null where the pointer is at none that could. */
  readonly target: ReadonlySignal<string | null>;
  /** How many entries are dragged, and whether they would be copied. */
  readonly count: ReadonlySignal<number>;
  readonly isCopy: ReadonlySignal<boolean>;
}

export interface DraggingOptions {
  readonly folder: Folder;
  readonly location: Location;
  readonly selection: Selection;
  readonly changes: Changes;
  readonly uploads: Uploads;
  readonly urls: Urls;
  readonly language: ReadonlySignal<Language>;
  readonly rights: Rights;
}

/** Milliseconds without a word of a drag after which it is over: browsers tell of it at least twice as often. */
const SILENCE = 1_000;

/** Listens for as long as the page lives. */
export function createDragging(options: DraggingOptions): Dragging {
  const { folder, location, changes, uploads, rights } = options;
  const what = signal<'entries' | 'files' | null>(null);
  const target = signal<string | null>(null);
  const count = signal(0);
  const isCopy = signal(false);
  const spring = createSpring((path) => location.openFolder(path));
  const autoScroll = createAutoScroll();
  /** Kept while the drag is outside of the window: it may come back. */
  let dragged: Dragged | null = null;
  let silence: ReturnType<typeof setTimeout> | undefined;

  const leave = () => {
    clearTimeout(silence);
    spring.end();
    autoScroll.end();
    batch(() => {
      what.value = null;
      target.value = null;
    });
  };
  const end = () => {
    dragged = null;
    leave();
  };

  /** What an event drags; null for what the page takes nowhere, such as a text or a link. */
  const kindOf = ({ types }: DataTransfer): 'entries' | 'files' | null =>
    dragged ? 'entries' : types.includes('Files') ? 'files' : null;

  /** Takes note of where the drag is, and tells the browser what a drop there would do. */
  const follow = (event: DragEvent, transfer: DataTransfer) => {
    const kind = kindOf(transfer);
    const candidate = rights.isReadOnly || !kind ? null : folderAt(event.target);
    const paths = kind === 'entries' ? (dragged?.paths ?? []) : [];
    const isTaken = candidate !== null && canTake(candidate, paths) && rights.mayIn(candidate, 'write');
    const taker = isTaken ? candidate : null;
    const copies = kind === 'files' || dragged?.canMove === false || (isMac ? event.altKey : event.ctrlKey);
    event.preventDefault();
    transfer.dropEffect = taker === null ? 'none' : copies ? 'copy' : 'move';
    batch(() => {
      what.value = kind;
      target.value = taker;
      count.value = paths.length;
      isCopy.value = copies;
    });
    const leadsOn = candidate !== folder.path.value && !paths.some((path) => isOnTheWay(candidate ?? '', path));
    spring.over(leadsOn ? candidate : null);
    if (event.target instanceof Element) autoScroll.over(event.target, event.clientY);
    clearTimeout(silence);
    silence = setTimeout(leave, SILENCE);
  };

  document.addEventListener('dragstart', (event) => {
    dragged = beginDrag(event, options);
    // Of a row that is drawn no more, the document is told nothing.
    dragged?.source.addEventListener('dragend', end, { once: true });
  });
  // The first is told of every element that the drag comes to, the second many times a second.
  for (const type of ['dragenter', 'dragover'] as const) {
    document.addEventListener(type, (event) => {
      const { dataTransfer } = event;
      if (!dataTransfer) return;
      // Another drag, whose beginning was elsewhere: ours is over, whether or not its end was told.
      if (dragged && !dataTransfer.types.includes(dragged.type)) dragged = null;
      // A text may be put into another; everything else would have the browser leave the page.
      if (kindOf(dataTransfer) || !isText(event.target)) follow(event, dataTransfer);
    });
  }
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null && isOutside(event)) leave();
  });
  document.addEventListener('dragend', end);
  document.addEventListener('drop', (event) => {
    const { dataTransfer } = event;
    if (!dataTransfer || (!kindOf(dataTransfer) && isText(event.target))) return;
    follow(event, dataTransfer);
    const [kind, into, paths] = [what.value, target.value, dragged?.paths];
    end();
    if (into === null) return;
    if (kind === 'files') uploads.addFrom(dataTransfer, into);
    else if (paths) void changes.transfer(isCopy.value ? 'copy' : 'move', paths, into);
  });

  return { what, target, count, isCopy };
}

/** The folder for which an element takes what is dropped on it. */
function folderAt(element: EventTarget | null): string | null {
  const taker = element instanceof Element ? element.closest<HTMLElement>('[data-drop-folder]') : null;
  return taker?.dataset['dropFolder'] ?? null;
}

/** Safari tells of every element that is left as if the window was. */
function isOutside({ clientX, clientY }: DragEvent): boolean {
  return clientX <= 0 || clientY <= 0 || clientX >= window.innerWidth || clientY >= window.innerHeight;
}
