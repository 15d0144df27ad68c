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

/** The order in which columns lose their place in a narrow list: the highest first. */
const RANKS: Readonly<Record<Exclude<Column, 'name'>, number>> = { type: 3, modified: 2, size: 1 };

/** `rem` that names get at least before columns lose their place. */
const NAME = 18;

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
  const columns = COLUMNS.flatMap((id) =>
    id === 'name' || choice.hidden.includes(id) ? [] : [{ id, width: widthOf(id, choice), rank: RANKS[id] }],
  );
  const { shown, template } = fitColumns(available, columns, widthOf('name', choice));
  return { shown: ['name', ...shown.map(({ id }) => id)], isReduced: shown.length < columns.length, template };
}

/** A column after the name. */
export interface FittedColumn {
  /** `rem`. */
  readonly width: number;
  /** Columns lose their place in a narrow list in this order: the highest first. */
  readonly rank: number;
}

/**
 * Returns the columns that fit into `available` rem, and the value of `grid-template-columns`. The name gets all other
 * space up to its width, and columns lose their place before names lose theirs.
 */
export function fitColumns<Fitted extends FittedColumn>(
  available: number,
  columns: readonly Fitted[],
  nameWidth = COLUMN_WIDTHS.name.width,
): { readonly shown: readonly Fitted[]; readonly template: string } {
  let shown = columns;
  const needed = (name: number) => shown.reduce((sum, { width }) => sum + GAP + width, PADDING + MENU + GAP + name);
  while (shown.length > 0 && needed(NAME) > available) {
    const highest = Math.max(...shown.map(({ rank }) => rank));
    shown = shown.filter(({ rank }) => rank < highest);
  }
  // In a narrow list, the menu buttons are at the edge. Otherwise, space remains beside them.
  const isFilled = needed(nameWidth) > available;
  const widths = shown.map(({ width }) => ` ${width}rem`).join('');
  const template = `minmax(0, ${isFilled ? '1fr' : `${nameWidth}rem`})${widths} var(--control)${isFilled ? '' : ' 1fr'}`;
  return { shown, template };
}
