import type { Signal } from '@preact/signals';
import type { Folder } from '../../model/folder/folder.ts';
import type { Selection } from '../../model/selection.ts';
import { isRightToLeft } from '../../ui/direction.ts';
import { EdgeScroll } from '../../ui/edge-scroll.ts';
import type { ScrollPosition } from '../../ui/virtual-rows.ts';
import type { EntryLayout } from './grid-layout.ts';

/** A rectangle, in pixels relative to the upper left corner of the first entry. */
export interface Band {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Pixels that the mouse must move before a press becomes a band. */
const THRESHOLD = 4;
/** Pixels from the upper and lower edges of the view at which a band scrolls it. */
const SCROLL_EDGE = 32;

interface BandSelectionOptions {
  /** The element that scrolls the entries. */
  readonly element: HTMLElement;
  readonly band: Signal<Band | null>;
  readonly folder: Folder;
  readonly selection: Selection;
  /** Returns the current layout and scroll position. */
  readonly layout: () => EntryLayout & Pick<ScrollPosition, 'top'>;
  /** Ends the selection by bands. */
  readonly signal: AbortSignal;
}

/** Lets the user select entries by a band, and clear the selection by a click beside all entries. */
export function selectByBand({ element, band, folder, selection, layout, signal }: BandSelectionOptions): void {
  const begin = (event: PointerEvent) => {
    if (event.pointerType !== 'mouse' || event.button !== 0 || !isFree(event, element)) return;
    const isAdded = event.ctrlKey || event.metaKey || event.shiftKey;
    const before = isAdded ? [...selection.paths.peek()] : [];
    trackPointer(element, event, {
      onChange(from, to) {
        band.value = bandBetween(from, to);
        const current = layout();
        const entries = folder.entries.peek();
        const inside = indicesIn(band.value, current).flatMap((index) => entries[index]?.path ?? []);
        selection.set([...before, ...inside]);
      },
      locate: (x, y) => pointAt(element, layout(), x, y),
      onEnd(isBand) {
        band.value = null;
        // A click beside all entries clears the selection.
        if (!isBand && !isAdded && !isOnEntry(event)) selection.clear();
      },
    });
  };
  element.addEventListener('pointerdown', begin, { signal });
}

interface Tracking {
  /** Returns the position among all entries of a point in the window. */
  readonly locate: (x: number, y: number) => Point;
  readonly onChange: (from: Point, to: Point) => void;
  readonly onEnd: (isBand: boolean) => void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Tracks the pointer that started the band until it is released, and scrolls near the edges. */
function trackPointer(element: HTMLElement, start: PointerEvent, { locate, onChange, onEnd }: Tracking): void {
  const from = locate(start.clientX, start.clientY);
  const edgeScroll = new EdgeScroll(SCROLL_EDGE);
  const listening = new AbortController();
  const { signal } = listening;
  let latest = start;
  let isBand = false;

  const update = () => {
    if (isBand) onChange(from, locate(latest.clientX, latest.clientY));
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return;
    latest = event;
    if (!isBand) {
      if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < THRESHOLD) return;
      isBand = true;
      element.setPointerCapture(start.pointerId);
    }
    update();
    edgeScroll.update(element, event.clientY);
  };
  const finish = ({ pointerId }: PointerEvent) => {
    if (pointerId !== start.pointerId) return;
    listening.abort();
    edgeScroll.stop();
    update();
    if (isBand) window.addEventListener('click', stop, { capture: true, once: true });
    // The browser sends the click immediately, or not at all.
    setTimeout(() => window.removeEventListener('click', stop, { capture: true }));
    onEnd(isBand);
  };
  element.addEventListener('scroll', update, { passive: true, signal });
  window.addEventListener('pointermove', move, { signal });
  // The selected entries become draggable, and a drag would otherwise start under the mouse.
  window.addEventListener('dragstart', preventDrag, { capture: true, signal });
  for (const type of ['pointerup', 'pointercancel'] as const) window.addEventListener(type, finish, { signal });
}

/** Prevents the click that ends a band from selecting the entry below the pointer. */
const stop = (event: Event) => event.stopPropagation();

function preventDrag(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function pointAt(
  element: HTMLElement,
  { headerHeight, padding, top }: EntryLayout & Pick<ScrollPosition, 'top'>,
  x: number,
  y: number,
): Point {
  const box = element.getBoundingClientRect();
  // In right-to-left pages, the scroll bar is at the left.
  return { x: x - box.left - element.clientLeft - padding, y: y - box.top - headerHeight + top };
}

function bandBetween(from: Point, to: Point): Band {
  return {
    left: Math.min(from.x, to.x),
    top: Math.min(from.y, to.y),
    right: Math.max(from.x, to.x),
    bottom: Math.max(from.y, to.y),
  };
}

/** Returns the indices of the entries that a band touches. */
function indicesIn(band: Band, { rows, entriesOf, boxOf, width, padding }: EntryLayout): readonly number[] {
  const line = width - 2 * padding;
  const [start, end] = isRightToLeft() ? [line - band.right, line - band.left] : [band.left, band.right];
  const indices: number[] = [];
  const lastRow = Math.min(rows.rowAt(band.bottom), rows.count - 1);
  for (let row = Math.max(0, rows.rowAt(band.top)); row <= lastRow; row++) {
    const [first, after] = entriesOf(row);
    for (let index = first; index < after; index++) {
      const box = boxOf(index);
      const isInLine = box.start <= end && box.end > start;
      if (isInLine && box.top <= band.bottom && box.bottom > band.top) indices.push(index);
    }
  }
  return indices;
}

/** Returns whether a press starts a band: not on a draggable or clickable element, nor on the scroll bar. */
function isFree(event: PointerEvent, element: HTMLElement): boolean {
  const { target } = event;
  if (
    !(target instanceof Element) ||
    target.closest('[draggable="true"], button, input, a, [data-check], .list-header')
  )
    return false;
  const x = event.clientX - element.getBoundingClientRect().left - element.clientLeft;
  return x >= 0 && x < element.clientWidth;
}

function isOnEntry({ target }: Event): boolean {
  return target instanceof Element && target.closest('[data-path]') !== null;
}
