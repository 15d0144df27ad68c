import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { ColumnChoice, Density } from '../../platform/preferences.ts';
import type { Entry } from '../../platform/service/service.ts';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { type RowPositions, uniformRows } from '../../ui/virtual-rows.ts';
import { type ListColumns, layOutColumns } from './columns.ts';

/** The entries as cells in rows. */
export interface Cells {
  readonly count: number;
  readonly rowOf: (index: number) => number;
  /** Returns the index of the first entry of a row, and the index after its last one. */
  readonly entriesOf: (row: number) => readonly [first: number, end: number];
  /** Returns where the middle of an entry is in its row, in any unit. */
  readonly middleOf: (index: number) => number;
  /** Whether no row has more than one entry. */
  readonly isSingleColumn: boolean;
}

/** A rectangle in pixels: from the start of the line, and from the top of the first row. */
export interface CellBox {
  readonly start: number;
  readonly end: number;
  readonly top: number;
  readonly bottom: number;
}

/** The layout of the entries in a view. All lengths are in pixels. */
export interface EntryLayout extends Cells {
  readonly rows: RowPositions;
  readonly boxOf: (index: number) => CellBox;
  /** The height above the rows: the header of a list, or the space above tiles. */
  readonly headerHeight: number;
  /** The size of the visible part. */
  readonly width: number;
  readonly height: number;
  /** The space around the tiles, on each side. */
  readonly padding: number;
  /** The most entries in a row; undefined for a list. */
  readonly columnCount?: number;
  /** Returns how many entries have room in a row of tiles. */
  readonly columnsOf?: (row: number) => number;
  /** The columns of a list. */
  readonly columns?: ListColumns;
}

/** What layouts depend on, except the entries. */
export interface LayoutInput {
  /** Pixels of the scroller, without its scroll bar. */
  readonly width: number;
  readonly height: number;
  readonly isNarrow: boolean;
  /** Pixels. */
  readonly rem: number;
  readonly rowHeight: number;
  readonly columns: ColumnChoice;
  /** The position in `TILE_SIZES`. */
  readonly tileSize: number;
}

/** Returns the size of the scroller and the lengths of the style sheet, and updates them. */
export function useLayoutInput(
  scroller: RefObject<HTMLElement | null>,
  density: Density,
): Omit<LayoutInput, 'columns' | 'tileSize'> {
  const [size, setSize] = useState({ width: 0, height: 0 });
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

  return useMemo(() => {
    const style = getComputedStyle(document.documentElement);
    const rem = Number.parseFloat(style.fontSize);
    return { ...size, isNarrow, rem, rowHeight: Number.parseFloat(style.getPropertyValue('--row')) * rem };
    // The style sheet derives the row height from the density.
  }, [size.width, size.height, isNarrow, density]);
}

/** Returns the layout of a list of other items than entries. `available`: its width in `rem`. */
export function useListLayout(scroller: RefObject<HTMLElement | null>, density: Density) {
  const { width, height, rem, rowHeight, isNarrow } = useLayoutInput(scroller, density);
  return { available: width / rem, height, rowHeight, headerHeight: headerHeightOf({ rowHeight, isNarrow }) };
}

/** Narrow windows have one column and a sort menu, so they need no header. */
const headerHeightOf = ({ rowHeight, isNarrow }: Pick<LayoutInput, 'rowHeight' | 'isNarrow'>) =>
  isNarrow ? 0 : rowHeight;

export function listLayout(entries: readonly Entry[], input: LayoutInput): EntryLayout {
  const { width, height, rowHeight, rem } = input;
  return {
    ...uniformCells(entries.length, 1),
    rows: uniformRows(entries.length, rowHeight),
    boxOf: (index) => ({ start: 0, end: width, top: index * rowHeight, bottom: (index + 1) * rowHeight }),
    headerHeight: headerHeightOf(input),
    width,
    height,
    padding: 0,
    columns: layOutColumns(width / rem, input.columns),
  };
}

/** Returns the cells of entries in rows of equal length. */
export function uniformCells(count: number, columns: number): Cells {
  return {
    count,
    rowOf: (index) => Math.floor(index / columns),
    entriesOf: (row) => [row * columns, Math.min(count, (row + 1) * columns)],
    middleOf: (index) => index % columns,
    isSingleColumn: columns === 1,
  };
}

/** The entries as the keyboard moves through them. */
export interface NavigationGrid extends Cells {
  readonly visibleRows: number;
  readonly isRightToLeft: boolean;
}

/** Returns the index that a key moves to from `index` (-1 for none); undefined for keys that don't move. */
export function targetIndex(key: string, index: number, grid: NavigationGrid): number | undefined {
  const { count, rowOf } = grid;
  const last = count - 1;
  if (count === 0) return undefined;
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  const [unit, step] = stepOf(key, grid) ?? [];
  if (unit === undefined || step === undefined) return undefined;
  if (index < 0) return step > 0 ? 0 : last;
  if (unit === 'entry') return Math.max(0, Math.min(index + step, last));

  const row = rowOf(index);
  const target = row + step;
  if (target > rowOf(last)) return row === rowOf(last) ? index : last;
  if (target < 0 && !key.startsWith('Page')) return index;
  return nearestInRow(Math.max(0, target), index, grid);
}

/** Returns the entry of a row that is nearest to being above or below another entry. */
function nearestInRow(row: number, index: number, { entriesOf, middleOf }: Cells): number {
  const [first, end] = entriesOf(row);
  const distance = (candidate: number) => Math.abs(middleOf(candidate) - middleOf(index));
  let nearest = first;
  for (let candidate = first; candidate < end; candidate++) {
    if (distance(candidate) < distance(nearest)) nearest = candidate;
  }
  return nearest;
}

type Step = readonly [unit: 'entry' | 'row', step: number];

function stepOf(key: string, { isSingleColumn, visibleRows, isRightToLeft }: NavigationGrid): Step | undefined {
  const forward = isRightToLeft ? -1 : 1;
  const page = Math.max(1, visibleRows - 1);
  switch (key) {
    case 'ArrowDown':
      return ['row', 1];
    case 'ArrowUp':
      return ['row', -1];
    case 'ArrowRight':
      return isSingleColumn ? undefined : ['entry', forward];
    case 'ArrowLeft':
      return isSingleColumn ? undefined : ['entry', -forward];
    case 'PageDown':
      return ['row', page];
    case 'PageUp':
      return ['row', -page];
    default:
      return undefined;
  }
}
