import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { RefObject } from 'preact';
import { useLayoutEffect, useReducer, useState } from 'preact/hooks';

export interface VirtualRows {
  /** The rows to draw: those that can be seen, some around them, and the one that has the focus. */
  readonly rows: readonly { readonly index: number; readonly start: number }[];
  /** Pixels of all rows together. */
  readonly height: number;
  readonly isScrolling: boolean;
  /** Brings a row into sight, by as little scrolling as it takes. */
  scrollTo(row: number): void;
}

interface VirtualRowsOptions {
  readonly scroller: RefObject<HTMLElement | null>;
  readonly count: number;
  /** Pixels. */
  readonly rowHeight: number;
  /** Pixels above the rows that stay in sight, of the header. */
  readonly headerHeight: number;
  /** A row that is drawn wherever it is: without its element, the focus would be lost. */
  readonly kept: number;
}

/** Rows of one height, of which only those are drawn that can be seen. */
export function useVirtualRows({ scroller, count, rowHeight, headerHeight, kept }: VirtualRowsOptions): VirtualRows {
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0);
  const options = {
    count,
    estimateSize: () => rowHeight,
    getScrollElement: () => scroller.current,
    overscan: 8,
    scrollMargin: headerHeight,
    scrollPaddingStart: headerHeight,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(),
    rangeExtractor: ({
      startIndex,
      endIndex,
      overscan,
    }: {
      startIndex: number;
      endIndex: number;
      overscan: number;
    }) => {
      const first = Math.max(0, startIndex - overscan);
      const last = Math.min(count - 1, endIndex + overscan);
      const shown = Array.from({ length: last - first + 1 }, (_, index) => first + index);
      return kept >= 0 && kept < count && (kept < first || kept > last) ? [...shown, kept] : shown;
    },
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  virtualizer.setOptions(options);

  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => virtualizer.measure(), [rowHeight, headerHeight]);

  return {
    rows: virtualizer.getVirtualItems().map(({ index, start }) => ({ index, start: start - headerHeight })),
    height: count * rowHeight,
    isScrolling: virtualizer.isScrolling,
    scrollTo: (row) => virtualizer.scrollToIndex(row, { align: 'auto' }),
  };
}
