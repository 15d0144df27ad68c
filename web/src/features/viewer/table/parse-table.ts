import Papa from 'papaparse';
import { BidiLimit } from '../text/bidi-parts.ts';

/** The maximum number of shown rows, columns and cells. Further rows are only counted. */
const MAX_ROWS = 200_000;
const MAX_COLUMNS = 200;
const MAX_CELLS = 3_000_000;

/** The number of rows that determine whether a column is numeric, and how wide it is. */
const SAMPLE_ROWS = 50;

/** The shown part of a table of separated values. */
export interface ParsedTable {
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly string[])[];
  /** The number of rows of the whole table, without the header. */
  readonly rowCount: number;
}

interface Column {
  readonly name: string;
  readonly isNumeric: boolean;
  /** The greatest number of characters in a line of the first cells. */
  readonly width: number;
}

/**
 * Parses separated values; the first line is the header. Without `isTabbed`, the separator is detected: a comma, a
 * semicolon, a tab or a bar.
 */
export function parseTable(source: string, isTabbed: boolean): ParsedTable {
  const { data } = Papa.parse<string[]>(new BidiLimit().apply(source), {
    delimiter: isTabbed ? '\t' : '',
    skipEmptyLines: true,
  });
  const [names = [], ...all] = data;
  return tableOf(names, all, all.length);
}

/** Returns the shown part of a table whose first cells are known. */
export function tableOf(names: readonly string[], all: readonly (readonly string[])[], rowCount: number): ParsedTable {
  let width = Math.min(MAX_COLUMNS, names.length);
  for (const { length } of all) width = Math.max(width, Math.min(MAX_COLUMNS, length));
  const shownRows = Math.min(MAX_ROWS, Math.floor(MAX_CELLS / Math.max(1, width)));
  const rows = all.slice(0, shownRows).map((row) => row.slice(0, MAX_COLUMNS));
  const sample = rows.slice(0, SAMPLE_ROWS);
  const columns = Array.from({ length: width }, (_, index) => {
    const cells = sample.map((row) => row[index] ?? '');
    const name = names[index] ?? '';
    return { name, isNumeric: cells.every(isNumericCell), width: Math.max(...[name, ...cells].map(lineLength)) };
  });
  return { columns, rows, rowCount };
}

function lineLength(cell: string): number {
  return Math.max(
    ...cell
      .slice(0, 200)
      .split('\n')
      .map(({ length }) => length),
  );
}

/** Returns whether a cell is empty or a number in any notation: `1,000.5`, `1.000,5`, `-1 000`, `12 %`. */
function isNumericCell(cell: string): boolean {
  const value = cell.trim();
  return value === '' || (value.length <= MAX_NUMBER_LENGTH && NUMBER.test(value));
}

const MAX_NUMBER_LENGTH = 50;

/**
 * Digits in groups of three after dots, commas or spaces, or without groups. Versions (`1.10.0`), IP addresses and dates
 * (`02.01.2025`) have other groups. Commas can also separate two digits, as in India.
 */
const NUMBER =
  /^[-+]?(?:\d{1,3}(?:\.\d{3})+(?:,\d*)?|\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d*)?|\d{1,3}(?:\s\d{3})+(?:[.,]\d*)?|\d+(?:[.,]\d*)?|[.,]\d+)\s?%?$/;
