import { COLUMNS, type Column, type ColumnChoice } from '../../platform/preferences.ts';

/** The columns of the list that fit, and their widths. */
export interface ListColumns {
  readonly shown: readonly Column[];
  /** Whether there is no room for a column that the user did not hide. Then the list shows the details below the name. */
  readonly isReduced: boolean;
  /** The value of `grid-template-columns`. */
  readonly template: string;
}

/** Widths of a column in `rem`. The name can become narrower than its width, down to the minimum. */
export interface ColumnWidth {
  readonly width: number;
  readonly min: number;
  readonly max: number;
}

export const COLUMN_WIDTHS: Readonly<Record<Column, ColumnWidth>> = {
  name: { width: 38, min: 12, max: 90 },
  size: { width: 5.5, min: 4, max: 14 },
  type: { width: 12, min: 5, max: 30 },
  modified: { width: 11, min: 6, max: 24 },
};

/** The columns that lose their place in a narrow list, in this order. */
const DROPPED: readonly Column[] = ['type', 'modified', 'size'];

/** `rem` that names get at least before columns lose their place. */
const NAME = 15;

/** `rem` of the space around a row, and between its columns, as in `entries.css`; and of the menu button. */
const PADDING = 1.25;
const GAP = 1;
const MENU = 2;

/** Returns the width of a column in `rem`. */
export function widthOf(column: Column, { widths }: ColumnChoice): number {
  const { width, min, max } = COLUMN_WIDTHS[column];
  return Math.max(min, Math.min(widths[column] ?? width, max));
}

/** Returns the columns that fit into `available` rem. */
export function layOutColumns(available: number, choice: ColumnChoice): ListColumns {
  const chosen = COLUMNS.filter((column) => !choice.hidden.includes(column));
  const needed = (columns: readonly Column[]) =>
    columns.reduce((sum, column) => sum + GAP + (column === 'name' ? NAME : widthOf(column, choice)), 0);
  const dropped = DROPPED.filter((column) => chosen.includes(column));
  let shown = chosen;
  for (const column of dropped) {
    if (needed(shown) + PADDING + MENU <= available) break;
    shown = shown.filter((other) => other !== column);
  }
  const full = shown.reduce((sum, column) => sum + GAP + widthOf(column, choice), PADDING + MENU);
  // In a narrow list, the menu buttons are at the edge. Otherwise, space remains beside them.
  const isFilled = full > available;
  const tracks = shown.map((column) => {
    const width = `${widthOf(column, choice)}rem`;
    return column === 'name' ? `minmax(0, ${isFilled ? '1fr' : width})` : width;
  });
  const template = `${tracks.join(' ')} var(--control)${isFilled ? '' : ' 1fr'}`;
  return { shown, isReduced: shown.length < chosen.length, template };
}
