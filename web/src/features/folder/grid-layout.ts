import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { Density, View } from '../../platform/preferences.ts';
import { NARROW, useMedia } from '../../ui/responsive.ts';

/** The layout of the entries as rows and columns. All lengths are in pixels. */
export interface GridLayout {
  readonly columns: number;
  readonly columnWidth: number;
  readonly rowHeight: number;
  /** The height above the rows: the header of a list, or the space above tiles. */
  readonly headerHeight: number;
  /** The height of the visible part. */
  readonly height: number;
  /** The space around the tiles, on each side. */
  readonly padding: number;
}

/** Returns the layout of a view in its scroller, and updates it when the scroller's size changes. */
export function useGridLayout(view: View, scroller: RefObject<HTMLElement | null>, density: Density): GridLayout {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const isNarrow = useMedia(NARROW);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  return useMemo(
    () => (view === 'list' ? listLayout(size, isNarrow) : tileLayout(size, isNarrow)),
    // The style sheet derives the row height from the density.
    [view, size.width, size.height, isNarrow, density],
  );
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Narrow windows have one column and a sort menu, so they need no header. */
function listLayout({ width, height }: Size, isNarrow: boolean): GridLayout {
  const rowHeight = Number.parseFloat(rootStyle().getPropertyValue('--row')) * pixelsPerRem();
  return { columns: 1, columnWidth: width, rowHeight, headerHeight: isNarrow ? 0 : rowHeight, height, padding: 0 };
}

/** Lengths of tiles in `rem`, which follow the user's text size. */
const TILE = { minWidth: 10.5, minWidthIfNarrow: 8.5, caption: 4.5, padding: 0.75 };

function tileLayout({ width, height }: Size, isNarrow: boolean): GridLayout {
  const rem = pixelsPerRem();
  const padding = TILE.padding * rem;
  const available = Math.max(0, width - 2 * padding);
  const minWidth = (isNarrow ? TILE.minWidthIfNarrow : TILE.minWidth) * rem;
  const columns = Math.max(1, Math.floor(available / minWidth));
  const columnWidth = available / columns;
  // The picture has an aspect ratio of 4:3.
  const rowHeight = Math.round((columnWidth * 3) / 4 + TILE.caption * rem);
  return { columns, columnWidth, rowHeight, headerHeight: padding, height, padding };
}

const rootStyle = () => getComputedStyle(document.documentElement);
const pixelsPerRem = () => Number.parseFloat(rootStyle().fontSize);

/** The entries as the keyboard moves through them. */
export interface NavigationGrid {
  readonly count: number;
  readonly columns: number;
  readonly visibleRows: number;
  readonly isRightToLeft: boolean;
}

/** Returns the index that a key moves to from `index` (-1 for none); undefined for keys that don't move. */
export function targetIndex(key: string, index: number, grid: NavigationGrid): number | undefined {
  const { count, columns, visibleRows } = grid;
  const step = stepOf(key, grid);
  if (count === 0) return undefined;
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (step === undefined) return undefined;
  if (index < 0) return step > 0 ? 0 : count - 1;

  const target = index + step;
  if (target >= 0 && target < count) return target;
  if (Math.abs(step) < columns) return index;
  if (step > 0) {
    const isInLastRow = Math.floor(index / columns) === Math.floor((count - 1) / columns);
    return isInLastRow ? index : count - 1;
  }
  const isPage = key.startsWith('Page') && visibleRows > 1;
  return isPage ? index % columns : index;
}

function stepOf(key: string, { columns, visibleRows, isRightToLeft }: NavigationGrid): number | undefined {
  const forward = isRightToLeft ? -1 : 1;
  const page = Math.max(1, visibleRows - 1) * columns;
  switch (key) {
    case 'ArrowDown':
      return columns;
    case 'ArrowUp':
      return -columns;
    case 'ArrowRight':
      return columns > 1 ? forward : undefined;
    case 'ArrowLeft':
      return columns > 1 ? -forward : undefined;
    case 'PageDown':
      return page;
    case 'PageUp':
      return -page;
    default:
      return undefined;
  }
}
