import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ScrollPosition } from '../../ui/scroll-position.ts';
import { useFolder, useSelection } from '../models.ts';
import type { Arrangement } from './arrangement.ts';
import './folder-view.css';

/** A rectangle, in pixels relative to the upper left corner of the first entry. */
export interface Band {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Pixels that the mouse must move before a press becomes a band. */
const THRESHOLD = 4;
/** The size in pixels of the edges that scroll the view, and the maximum scroll distance per frame. */
const EDGE = 32;
const SPEED = 18;

/**
 * Selects the entries inside the rectangle between the press position and the pointer. A press on a draggable part
 * starts no band. Ctrl, ⌘ or Shift extends the selection.
 */
export function useRubberBand(
  scroller: RefObject<HTMLElement | null>,
  position: ScrollPosition,
  arrangement: Arrangement,
): ReadonlySignal<Band | null> {
  const folder = useFolder();
  const selection = useSelection();
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
        locate: (x, y) => pointAt(element, { ...latest.current, top: position.top }, x, y),
        end(isBand) {
          band.value = null;
          // A click beside all entries clears the selection.
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

/** Tracks the pointer that started the band until it is released, and scrolls near the edges. */
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
    // The browser sends the click immediately, or not at all.
    setTimeout(() => window.removeEventListener('click', stop, { capture: true }));
    end(isBand);
  };
  window.addEventListener('pointermove', move, { signal: over.signal });
  // The selected entries become draggable, and a drag would otherwise start under the mouse.
  window.addEventListener('dragstart', refuse, { capture: true, signal: over.signal });
  for (const type of ['pointerup', 'pointercancel'] as const)
    window.addEventListener(type, finish, { signal: over.signal });
}

/** Prevents the click that ends a band from selecting the entry below the pointer. */
const stop = (event: Event) => event.stopPropagation();

function refuse(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function pointAt(
  element: HTMLElement,
  { headerHeight, padding, top }: Arrangement & Pick<ScrollPosition, 'top'>,
  x: number,
  y: number,
): Point {
  const box = element.getBoundingClientRect();
  return { x: x - box.left - padding, y: y - box.top - headerHeight + top };
}

function rectangle(from: Point, to: Point): Band {
  return {
    left: Math.min(from.x, to.x),
    top: Math.min(from.y, to.y),
    right: Math.max(from.x, to.x),
    bottom: Math.max(from.y, to.y),
  };
}

/** Returns the rows and columns that a band touches. */
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

/** Returns whether a press starts a band: not on a draggable or clickable element, nor on the scroll bar. */
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

/** Draws the rectangle in an element that starts at `origin` of all rows. */
export function RubberBand({ band, origin }: { band: ReadonlySignal<Band | null>; origin: number }) {
  const shown = band.value;
  if (!shown) return null;
  const style = {
    transform: `translate(${shown.left}px, ${shown.top - origin}px)`,
    inlineSize: `${shown.right - shown.left}px`,
    blockSize: `${shown.bottom - shown.top}px`,
  };
  return <div class="rubber-band" style={style} />;
}
