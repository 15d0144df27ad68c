import Papa from 'papaparse';

/** The maximum number of rendered rows and columns. Further rows are only counted. */
const MAX_ROWS = 1000;
const MAX_COLUMNS = 200;

/** The number of rows that determine whether a column is numeric. */
const SAMPLE_ROWS = 50;

/** The rendered part of a table of separated values. */
export interface ParsedTable {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** The number of rows of the whole table, without the header. */
  readonly rowCount: number;
}

interface Column {
  readonly name: string;
  readonly isNumeric: boolean;
}

/**
 * Parses separated values; the first line is the header. Without `isTabbed`, the separator is detected: a comma, a
 * semicolon, a tab or a bar.
 */
export function parseTable(source: string, isTabbed: boolean): ParsedTable {
  const { data } = Papa.parse<string[]>(source, { delimiter: isTabbed ? '\t' : '', skipEmptyLines: true });
  const [names = [], ...all] = data;
  const rows = all.slice(0, MAX_ROWS).map((row) => row.slice(0, MAX_COLUMNS));
  const width = Math.min(MAX_COLUMNS, Math.max(...[names, ...rows].map(({ length }) => length)));
  const columns = Array.from({ length: width }, (_, index) => ({
    name: names[index] ?? '',
    isNumeric: rows.slice(0, SAMPLE_ROWS).every((row) => isNumericCell(row[index] ?? '')),
  }));
  return { columns, rows, rowCount: all.length };
}

/** Returns whether a cell is empty or a number in any notation: `1,000.5`, `-1 000`, `12 %`. */
function isNumericCell(cell: string): boolean {
  const value = cell.trim();
  return value === '' || (/^[-+]?[\d.,\s]+%?$/.test(value) && /\d/.test(value));
}
