import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface VirtualRows {
  /** The rows to render: the visible ones, some around them, and the focused one. */
  readonly rows: readonly VirtualRow[];
  /** The size of the element with the rows. */
  readonly style: { readonly blockSize: string; readonly overflowY?: 'clip' };
  readonly isScrolling: boolean;
  readonly position: ScrollPosition;
  /** Renders the rows of the current position before the browser reports it, so that no frame is empty. */
  update(): void;
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
  readonly positions: RowPositions;
  /** Pixels above the rows: the header of a list, which stays visible. */
  readonly headerHeight: number;
  /** Pixels covered at the lower edge. `scrollTo` keeps rows clear of them. */
  readonly coveredHeight?: number;
  /** The row to render wherever it is, because removing its element would lose the focus. -1 for none. */
  readonly pinned: number;
  /** Rows rendered above and below the visible ones. */
  readonly overscan: number;
}

/** Where rows are, in pixels from the top of the first row. */
export interface RowPositions {
  readonly count: number;
  /** The height of all rows. */
  readonly height: number;
  readonly topOf: (row: number) => number;
  readonly heightOf: (row: number) => number;
  /** Returns the row at a position. Outside of all rows, it can be negative, or at least `count`. */
  readonly rowAt: (top: number) => number;
}

/** Returns the positions of rows that all have one height. */
export function uniformRows(count: number, rowHeight: number): RowPositions {
  return {
    count,
    height: count * rowHeight,
    topOf: (row) => row * rowHeight,
    heightOf: () => rowHeight,
    rowAt: (top) => Math.floor(top / rowHeight),
  };
}

/** The visible range of the rows, in pixels. */
interface Viewport {
  readonly top: number;
  readonly origin: number;
  readonly height: number;
}

/** Milliseconds without a scroll event after which scrolling has ended. Not every supported browser has `scrollend`. */
const SCROLL_END_MS = 150;

/** Renders only the visible rows, and some around them. */
export function useVirtualRows(options: VirtualRowsOptions): VirtualRows {
  const { scroller, positions, headerHeight, coveredHeight = 0, pinned, overscan } = options;
  const { count, height } = positions;
  const latest = useRef(positions);
  latest.current = positions;
  const measured = useRef(() => {});
  const [viewport, setViewport] = useState<Viewport>({ top: 0, origin: 0, height: 0 });
  const [position] = useState(() => new ScrollPosition(() => scroller.current));
  position.height = height;
  const [isScrolling, setScrolling] = useState(false);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const measure = () => {
      position.update();
      const next = { top: position.top - headerHeight, origin: position.origin, height: element.clientHeight };
      setViewport((previous) => (isSameView(previous, next, latest.current) ? previous : next));
    };
    measured.current = measure;
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
  }, [headerHeight]);

  // After a render, when the element has its height.
  useLayoutEffect(() => {
    position.align();
    setViewport((previous) =>
      previous.origin === position.origin ? previous : { ...previous, origin: position.origin },
    );
    measured.current();
  }, [positions]);

  const range = rangeOf(viewport, positions);
  return {
    rows: renderedRows(range, { count, pinned, overscan }).map((index) => ({
      index,
      start: positions.topOf(index) - viewport.origin,
      isInView: index >= range.first && index <= range.last,
    })),
    style:
      height <= MAX_HEIGHT
        ? { blockSize: `${height}px` }
        : // Rows below the end would make the element taller.
          { blockSize: `${MAX_HEIGHT}px`, overflowY: 'clip' },
    isScrolling,
    position,
    update: () => measured.current(),
    scrollTo(row) {
      const element = scroller.current;
      if (!element) return;
      const atTop = positions.topOf(row);
      const atBottom = atTop + positions.heightOf(row) + headerHeight + coveredHeight - element.clientHeight;
      position.top = Math.min(atTop, Math.max(atBottom, position.top));
    },
  };
}

/** The first and the last visible row. Before the first measurement, the last is before the first. */
interface Range {
  readonly first: number;
  readonly last: number;
}

function rangeOf({ top, height }: Viewport, { rowAt }: RowPositions): Range {
  if (height === 0) return { first: 0, last: -1 };
  return { first: Math.max(0, rowAt(top)), last: rowAt(top + height - 0.01) };
}

/** Returns whether both show the same rows at the same positions, so no render is necessary. */
function isSameView(left: Viewport, right: Viewport, positions: RowPositions): boolean {
  const [before, after] = [rangeOf(left, positions), rangeOf(right, positions)];
  return left.origin === right.origin && before.first === after.first && before.last === after.last;
}

function renderedRows(
  range: Range,
  { count, pinned, overscan }: { count: number } & Pick<VirtualRowsOptions, 'pinned' | 'overscan'>,
): readonly number[] {
  // Rows can be removed before the browser reports the new scroll position.
  const first = Math.max(0, Math.min(range.first, count - 1) - overscan);
  const last = range.last < range.first ? -1 : Math.min(count - 1, range.last + overscan);
  const rows: number[] = [];
  for (let index = first; index <= last; index += 1) rows.push(index);
  if (pinned >= 0 && pinned < count && (pinned < first || pinned > last)) rows.push(pinned);
  return rows;
}

/**
 * Pixels of the tallest element that Holdall renders. Browsers limit the height of elements, Firefox to 17,895,697 CSS
 * pixels, and zoom lowers the limit.
 */
const MAX_HEIGHT = 8_000_000;

/**
 * Pixels at both ends of the rows in which a pixel of the scroll bar is a pixel of the rows. Otherwise the browser would stop
 * the wheel at the end of the element, before the end of the rows.
 */
const EXACT_PIXELS = 100_000;

type Scroller = Pick<HTMLElement, 'scrollTop' | 'scrollHeight' | 'clientHeight'>;

interface Sizes {
  /** Pixels of the rows that the element is too short for. */
  readonly hidden: number;
  /** The greatest `scrollTop`. */
  readonly max: number;
  /** Pixels at both ends that the scroll bar represents exactly. */
  readonly margin: number;
}

/**
 * The scroll position among rows that can be taller together than an element. `top` is the position among all rows, and
 * `origin` is the part of it that the browser's `scrollTop` does not contain. Rows are rendered at their position minus
 * `origin`. Scrolling by the wheel moves the rows by the same distance; longer jumps are proportional, except near the
 * ends.
 */
export class ScrollPosition {
  /** Pixels of all rows. */
  height = 0;
  origin = 0;
  #lastScrollTop = 0;

  readonly #scroller: () => Scroller | null;

  constructor(scroller: () => Scroller | null) {
    this.#scroller = scroller;
  }

  get top(): number {
    return this.origin + (this.#scroller()?.scrollTop ?? 0);
  }

  set top(value: number) {
    const element = this.#scroller();
    if (!element) return;
    const sizes = this.#sizes(element);
    const { hidden, max, margin } = sizes;
    const top = hidden === 0 ? value : Math.max(0, Math.min(value, max + hidden));
    const scrollTop = scrollTopOf(top, sizes);
    element.scrollTop = scrollTop;
    const isExact = hidden === 0 || top <= margin || top >= max + hidden - margin;
    // The browser can round `scrollTop`.
    this.origin = isExact ? top - scrollTop : top - element.scrollTop;
    this.#lastScrollTop = element.scrollTop;
  }

  /** Adopts the browser's position after a scroll event. */
  update(): void {
    const element = this.#scroller();
    if (!element) return;
    const sizes = this.#sizes(element);
    const { hidden, max } = sizes;
    const { scrollTop } = element;
    const isJump = Math.abs(scrollTop - this.#lastScrollTop) > element.clientHeight;
    this.#lastScrollTop = scrollTop;
    if (hidden === 0) this.origin = 0;
    else if (isJump) this.origin = originAt(scrollTop, sizes);
    // At an end of the element, but not of the rows.
    else if ((scrollTop <= 0 && this.origin > 0) || (scrollTop >= max - 1 && this.origin < hidden - 1)) this.align();
  }

  /** Moves the scroll bar to the position of the rows, without moving the rows. */
  align(): void {
    const element = this.#scroller();
    if (!element) return;
    const { top } = this;
    const distance = Math.abs(scrollTopOf(top, this.#sizes(element)) - element.scrollTop);
    // Writing the same position could end an animation of the browser.
    if (distance >= 1) this.top = top;
  }

  #sizes(element: Scroller): Sizes {
    const hidden = Math.max(0, this.height - MAX_HEIGHT);
    const max = Math.max(1, element.scrollHeight - element.clientHeight);
    return { hidden, max, margin: Math.min(EXACT_PIXELS, max / 4) };
  }
}

/** Returns the position of the scroll bar for a position among the rows. The inverse of adding `originAt`. */
function scrollTopOf(top: number, { hidden, max, margin }: Sizes): number {
  if (hidden === 0 || top <= margin) return top;
  const middle = max - 2 * margin;
  return Math.max(top - hidden, margin + ((top - margin) * middle) / (middle + hidden));
}

/** Returns the part of the position among the rows that a position of the scroll bar does not contain. */
const originAt = (scrollTop: number, { hidden, max, margin }: Sizes) =>
  hidden * Math.max(0, Math.min((scrollTop - margin) / (max - 2 * margin), 1));
