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
  const ranks = isNumeric ? cells.map(numberOf) : (datesOf(cells, locale) ?? ranksOf(cells, locale));
  const sign = isDescending ? -1 : 1;
  const rankOf = (index: number) => ranks[index] ?? Number.NaN;
  return Uint32Array.from(cells.keys()).toSorted((left, right) => {
    const [one, other] = [rankOf(left), rankOf(right)];
    if (Number.isNaN(one) || Number.isNaN(other))
      return Number(Number.isNaN(one)) - Number(Number.isNaN(other)) || left - right;
    return sign * (one - other) || left - right;
  });
}

/** A date that ends with a year of four digits, and perhaps a time. Dates that begin with the year are sorted as texts. */
const DATE = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:,? (\d{1,2}):(\d\d)(?::(\d\d))?)?$/;

/** Returns the cells as numbers in the order of their dates, `NaN` for an empty one; undefined if a cell is no date. */
function datesOf(cells: readonly string[], locale: string): readonly number[] | undefined {
  const dates: (readonly [separator: string, ...parts: number[]] | undefined)[] = [];
  for (const cell of cells) {
    const [, first, separator = '', ...parts] = DATE.exec(cell.trim()) ?? [];
    if (first === undefined && cell.trim() !== '') return undefined;
    dates.push(
      first === undefined
        ? undefined
        : [separator, ...[first, ...parts].map((part: string | undefined) => Number(part ?? 0))],
    );
  }
  const isMonthFirst = dates.some((date) => date?.[0] === '/') && isMonthFirstIn(dates, locale);
  return dates.map((date) => {
    if (!date) return Number.NaN;
    const [, first = 0, second = 0, year = 0, hours = 0, minutes = 0, seconds = 0] = date;
    const [month, day] = isMonthFirst ? [first, second] : [second, first];
    return Date.UTC(year, month - 1, day, hours, minutes, seconds);
  });
}

/** Returns whether the month is first: a part above 12 is a day. Without one, the rules of the language apply. */
function isMonthFirstIn(dates: readonly (readonly [string, ...number[]] | undefined)[], locale: string): boolean {
  if (dates.some((date) => (date?.[1] ?? 0) > 12)) return false;
  if (dates.some((date) => (date?.[2] ?? 0) > 12)) return true;
  return new Intl.DateTimeFormat(locale).formatToParts().find(({ type }) => /day|month/.test(type))?.type === 'month';
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
