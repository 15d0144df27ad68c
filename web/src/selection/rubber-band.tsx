import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Arrangement } from '../folder/arrangement.ts';
import { usePage } from '../page.ts';
import './rubber-band.css';

/** A rectangle among the entries: pixels from the upper left of the first one. */
export interface Band {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Pixels that the mouse has to move before a press becomes a band. */
const THRESHOLD = 4;
/** Pixels at the edges within which the view scrolls along, and how many it scrolls in a frame at most. */
const EDGE = 32;
const SPEED = 18;

/**
 * Selects the entries that lie in the rectangle from where the mouse was pressed, beside what can be dragged, to where
 * it is. With Ctrl, ⌘ or Shift, beside those that were selected.
 */
export function useRubberBand(
  scroller: RefObject<HTMLElement | null>,
  arrangement: Arrangement,
): ReadonlySignal<Band | null> {
  const { folder, selection } = usePage();
  const band = useSignal<Band | null>(null);
  const latest = useRef(arrangement);
  latest.current = arrangement;

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const begin = (event: PointerEvent) => {
      if (event.pointerType !== 'mouse' || event.button !== 0 || !isFree(event, element)) return;
      const isAdded = event.ctrlKey || event.metaKey || event.shiftKey;
      const before = isAdded ? [...selection.paths.peek()] : [];
      follow(element, event, {
        change(from, to) {
          band.value = rectangle(from, to);
          const { columns } = latest.current;
          const entries = folder.entries.peek();
          const inside = cellsIn(band.value, latest.current).flatMap(([row, column]) => {
            const path = entries[row * columns + column]?.path;
            return path === undefined ? [] : [path];
          });
          selection.set([...before, ...inside]);
        },
        locate: (x, y) => placeOf(element, latest.current, x, y),
        end(isBand) {
          band.value = null;
          // A click beside all entries means none of them.
          if (!isBand && !isAdded && !isOnEntry(event)) selection.clear();
        },
      });
    };
    element.addEventListener('pointerdown', begin);
    return () => element.removeEventListener('pointerdown', begin);
  }, []);
  return band;
}

interface Following {
  readonly change: (from: Point, to: Point) => void;
  readonly locate: (x: number, y: number) => Point;
  readonly end: (isBand: boolean) => void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Follows the pointer that began, and no other one, until it is up; scrolls near the edges. */
function follow(element: HTMLElement, start: PointerEvent, { change, locate, end }: Following): void {
  const from = locate(start.clientX, start.clientY);
  const over = new AbortController();
  let at = { x: start.clientX, y: start.clientY };
  let last = from;
  let isBand = false;
  let frame = 0;

  const stretch = () => {
    const to = locate(at.x, at.y);
    if (to.x === last.x && to.y === last.y) return;
    last = to;
    change(from, to);
  };
  const update = () => {
    stretch();
    const { top, bottom } = element.getBoundingClientRect();
    const beyond = Math.max(0, at.y - (bottom - EDGE)) - Math.max(0, top + EDGE - at.y);
    if (beyond !== 0) element.scrollTop += Math.max(-SPEED, Math.min(SPEED, beyond / 2));
    frame = requestAnimationFrame(update);
  };
  const move = (event: PointerEvent) => {
    if (event.pointerId !== start.pointerId) return;
    at = { x: event.clientX, y: event.clientY };
    if (isBand || Math.hypot(at.x - start.clientX, at.y - start.clientY) < THRESHOLD) return;
    isBand = true;
    element.setPointerCapture(start.pointerId);
    update();
  };
  const finish = ({ pointerId }: PointerEvent) => {
    if (pointerId !== start.pointerId) return;
    over.abort();
    cancelAnimationFrame(frame);
    if (isBand) stretch();
    if (isBand) window.addEventListener('click', stop, { capture: true, once: true });
    // The click comes at once, or not at all.
    setTimeout(() => window.removeEventListener('click', stop, { capture: true }));
    end(isBand);
  };
  window.addEventListener('pointermove', move, { signal: over.signal });
  // What the band selects can be dragged from then on, which would begin under the mouse.
  window.addEventListener('dragstart', refuse, { capture: true, signal: over.signal });
  for (const type of ['pointerup', 'pointercancel'] as const)
    window.addEventListener(type, finish, { signal: over.signal });
}

/** Keeps the click that ends a band from selecting what it happens to be on. */
const stop = (event: Event) => event.stopPropagation();

function refuse(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function placeOf(element: HTMLElement, { headerHeight, padding }: Arrangement, x: number, y: number): Point {
  const { left, top } = element.getBoundingClientRect();
  return { x: x - left - padding, y: y - top - headerHeight + element.scrollTop };
}

function rectangle(from: Point, to: Point): Band {
  return {
    left: Math.min(from.x, to.x),
    top: Math.min(from.y, to.y),
    right: Math.max(from.x, to.x),
    bottom: Math.max(from.y, to.y),
  };
}

/** The rows and columns that a band touches. */
function cellsIn(band: Band, { columns, columnWidth, rowHeight }: Arrangement): readonly (readonly [number, number])[] {
  const isRightToLeft = document.documentElement.dir === 'rtl';
  const columnAt = (x: number) => Math.floor(x / columnWidth);
  const cells: (readonly [number, number])[] = [];
  const lastRow = Math.floor(band.bottom / rowHeight);
  for (let row = Math.max(0, Math.floor(band.top / rowHeight)); row <= lastRow; row++) {
    const lastColumn = Math.min(columns - 1, columnAt(band.right));
    for (let column = Math.max(0, columnAt(band.left)); column <= lastColumn; column++) {
      cells.push([row, isRightToLeft ? columns - 1 - column : column]);
    }
  }
  return cells;
}

/** Whether a press there begins a band: not on what is dragged or pressed itself, nor on the scroll bar. */
function isFree(event: PointerEvent, element: HTMLElement): boolean {
  const { target } = event;
  if (
    !(target instanceof Element) ||
    target.closest('[draggable="true"], button, input, a, [data-check], .list-header')
  )
    return false;
  return event.clientX - element.getBoundingClientRect().left < element.clientWidth;
}

function isOnEntry({ target }: Event): boolean {
  return target instanceof Element && target.closest('[data-path]') !== null;
}

/** The rectangle, as it is seen. */
export function RubberBand({ band }: { band: ReadonlySignal<Band | null> }) {
  const shown = band.value;
  if (!shown) return null;
  const style = {
    transform: `translate(${shown.left}px, ${shown.top}px)`,
    inlineSize: `${shown.right - shown.left}px`,
    blockSize: `${shown.bottom - shown.top}px`,
  };
  return <div class="rubber-band" style={style} />;
}
