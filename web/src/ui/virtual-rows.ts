import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { MAX_HEIGHT, ScrollPosition } from './scroll-position.ts';

export interface VirtualRows {
  /** The rows to render: the visible ones, some around them, and the focused one. */
  readonly rows: readonly VirtualRow[];
  /** The size of the element with the rows. */
  readonly style: { readonly blockSize: string; readonly overflowY?: 'clip' };
  readonly isScrolling: boolean;
  readonly position: ScrollPosition;
  /** Scrolls the minimum distance that brings a row into view. */
  scrollTo(row: number): void;
}

interface VirtualRow {
  readonly index: number;
  /** Pixels from the top of the element with the rows. */
  readonly start: number;
  /** Whether at least a part of the row is visible. */
  readonly isInView: boolean;
}

interface VirtualRowsOptions {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  /** Pixels. */
  readonly rowHeight: number;
  /** Pixels above the rows: the header of a list, which stays visible. */
  readonly headerHeight: number;
  /** Pixels covered at the lower edge. `scrollTo` keeps rows clear of them. */
  readonly coveredHeight?: number;
  /** The row to render wherever it is, because removing its element would lose the focus. -1 for none. */
  readonly kept: number;
  /** Rows rendered above and below the visible ones. */
  readonly overscan: number;
}

/** The visible range of the rows, in pixels. */
interface Viewport {
  readonly top: number;
  readonly origin: number;
  readonly height: number;
}

/** Milliseconds without a scroll event after which scrolling has ended. Not every supported browser has `scrollend`. */
const SCROLL_END_MS = 150;

/** Renders only the visible rows, and some around them, of a list with a constant row height. */
export function useVirtualRows(options: VirtualRowsOptions): VirtualRows {
  const { scroller, count, rowHeight, headerHeight, coveredHeight = 0, kept, overscan } = options;
  const [viewport, setViewport] = useState<Viewport>({ top: 0, origin: 0, height: 0 });
  const [position] = useState(() => new ScrollPosition(() => scroller.current));
  position.height = count * rowHeight;
  const [isScrolling, setScrolling] = useState(false);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const measure = () => {
      position.update();
      const next = { top: position.top - headerHeight, origin: position.origin, height: element.clientHeight };
      setViewport((known) => (isSameView(known, next, rowHeight) ? known : next));
    };
    const onScroll = () => {
      measure();
      setScrolling(true);
      clearTimeout(timer);
      timer = setTimeout(() => {
        setScrolling(false);
        position.align();
        measure();
      }, SCROLL_END_MS);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      clearTimeout(timer);
      setScrolling(false);
    };
  }, [rowHeight, headerHeight]);

  // After a render, so that the element has its height.
  useLayoutEffect(() => {
    position.align();
    setViewport((known) => (known.origin === position.origin ? known : { ...known, origin: position.origin }));
  }, [count * rowHeight]);

  const range = rangeOf(viewport, rowHeight);
  return {
    rows: drawnRows(range, { count, kept, overscan }).map((index) => ({
      index,
      start: index * rowHeight - viewport.origin,
      isInView: index >= range.first && index <= range.last,
    })),
    style:
      count * rowHeight <= MAX_HEIGHT
        ? { blockSize: `${count * rowHeight}px` }
        : // Rows below the end would make the element taller.
          { blockSize: `${MAX_HEIGHT}px`, overflowY: 'clip' },
    isScrolling,
    position,
    scrollTo(row) {
      const element = scroller.current;
      if (!element) return;
      const atTop = row * rowHeight;
      const atBottom = atTop + rowHeight + headerHeight + coveredHeight - element.clientHeight;
      position.top = Math.min(atTop, Math.max(atBottom, position.top));
    },
  };
}

/** The first and the last visible row. Before the first measurement, the last is before the first. */
interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeOf({ top, height }: Viewport, rowHeight: number): Range {
  if (height === 0) return { first: 0, last: -1 };
  return { first: Math.max(0, Math.floor(top / rowHeight)), last: Math.ceil((top + height) / rowHeight) - 1 };
}

/** Returns whether both show the same rows at the same positions, so that no render is necessary. */
function isSameView(left: Viewport, right: Viewport, rowHeight: number): boolean {
  const [before, after] = [rangeOf(left, rowHeight), rangeOf(right, rowHeight)];
  return left.origin === right.origin && before.first === after.first && before.last === after.last;
}

function drawnRows(
  range: Range,
  { count, kept, overscan }: Pick<VirtualRowsOptions, 'count' | 'kept' | 'overscan'>,
): readonly number[] {
  // Rows can be removed before the browser reports the new scroll position.
  const first = Math.max(0, Math.min(range.first, count - 1) - overscan);
  const last = range.last < range.first ? -1 : Math.min(count - 1, range.last + overscan);
  const rows: number[] = [];
  for (let index = first; index <= last; index += 1) rows.push(index);
  if (kept >= 0 && kept < count && (kept < first || kept > last)) rows.push(kept);
  return rows;
}
