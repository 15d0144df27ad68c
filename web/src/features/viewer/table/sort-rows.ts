/** The cells of a column, and how to sort them. */
export interface ColumnOrder {
  readonly cells: readonly string[];
  readonly isNumeric: boolean;
  readonly isDescending: boolean;
  /** The language whose rules apply. */
  readonly locale: string;
}

/**
 * Returns the indices of the rows in the order of a column. Equal cells keep their order, and empty cells are last in both
 * directions.
 */
export function sortRows({ cells, isNumeric, isDescending, locale }: ColumnOrder): Uint32Array {
  const ranks = isNumeric ? cells.map(numberOf) : ranksOf(cells, locale);
  const sign = isDescending ? -1 : 1;
  const rankOf = (index: number) => ranks[index] ?? Number.NaN;
  return Uint32Array.from(cells.keys()).toSorted((left, right) => {
    const [one, other] = [rankOf(left), rankOf(right)];
    if (Number.isNaN(one) || Number.isNaN(other))
      return Number(Number.isNaN(one)) - Number(Number.isNaN(other)) || left - right;
    return sign * (one - other) || left - right;
  });
}

/** Returns the position of each cell among the different ones, as people sort them; `NaN` for an empty one. */
function ranksOf(cells: readonly string[], locale: string): readonly number[] {
  const { compare } = new Intl.Collator(locale, { numeric: true });
  const distinct = [...new Set(cells.map((cell) => cell.trim()))].toSorted(compare);
  const ranks = new Map<string, number>();
  let rank = 0;
  for (const [index, cell] of distinct.entries()) {
    // Cells that differ only in what the language ignores are equal.
    if (index > 0 && compare(distinct[index - 1] ?? '', cell) !== 0) rank++;
    ranks.set(cell, cell === '' ? Number.NaN : rank);
  }
  return cells.map((cell) => ranks.get(cell.trim()) ?? Number.NaN);
}

/** Returns the number in a cell: `1,000.5`, `1.000,5`, `-1 000`, `12 %`; `NaN` for any other text. */
export function numberOf(cell: string): number {
  const plain = cell.replace(/[\s%]/g, '');
  const [comma, dot] = [plain.lastIndexOf(','), plain.lastIndexOf('.')];
  const commas = plain.split(',').length - 1;
  const dots = plain.split('.').length - 1;
  let isCommaDecimal = comma > dot;
  // A single group of three digits after a comma is a thousand, as in `1,000`; several separators of a kind are, too.
  if (dots === 0) isCommaDecimal = commas === 1 && plain.length - comma !== 4;
  const [thousands, decimal] = isCommaDecimal ? ['.', ','] : [',', '.'];
  const isGrouped = (decimal === '.' ? dots : commas) > 1;
  const digits = plain.replaceAll(thousands, '').replaceAll(decimal, isGrouped ? '' : '.');
  return digits === '' ? Number.NaN : Number(digits);
}
