import { type ParsedTable, tableOf } from '../table/parse-table.ts';
import { BidiLimit } from '../text/bidi-parts.ts';

/** The text of an office document or an e-mail. */
export interface ExtractedDocument {
  readonly blocks: readonly Block[];
  /** Whether the document has more than is shown. */
  readonly isTruncated: boolean;
}

export type Block =
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'item'; readonly text: string }
  | { readonly kind: 'table'; readonly rows: readonly (readonly string[])[] }
  /** A sheet of a spreadsheet. */
  | { readonly kind: 'sheet'; readonly name: string; readonly table: ParsedTable }
  /** A slide, by its number. */
  | { readonly kind: 'slide'; readonly number: number }
  /** The fields of an e-mail. */
  | { readonly kind: 'fields'; readonly fields: readonly (readonly [name: MailField, value: string])[] };

export type MailField = 'subject' | 'from' | 'to' | 'cc' | 'date' | 'attachments';

/** The maximum number of blocks, and of characters of all of them. */
const MAX_BLOCKS = 5_000;
const MAX_CHARACTERS = 1_000_000;
/** The number of characters that take as long to render as an empty cell of a table. */
const CELL_COST = 100;
/** The maximum number of cells and their characters in all sheets. */
const MAX_SHEET_CHARACTERS = 10_000_000;
/** The maximum number of cells of a sheet, and of columns that a file repeats. */
export const MAX_SHEET_CELLS = 300_000;
export const MAX_SHEET_COLUMNS = 200;

/** Collects the blocks of a document up to their limits. */
export class DocumentBuilder {
  readonly #blocks: Block[] = [];
  readonly #limit = new BidiLimit();
  #characters = 0;
  #sheetCharacters = 0;
  isTruncated = false;

  /** Adds a block, or the part of it within the limits. Returns false once the document is too long. */
  add(block: Block): boolean {
    if (this.isTruncated) return false;
    this.#characters += 'text' in block ? block.text.length : 100;
    if (block.kind === 'table') return this.#addRows(block.rows);
    if (this.#blocks.length >= MAX_BLOCKS || this.#characters > MAX_CHARACTERS) this.isTruncated = true;
    else this.#blocks.push(limited(block, this.#limit));
    return !this.isTruncated;
  }

  /** Adds a table up to the limit of characters. */
  #addRows(all: readonly (readonly string[])[]): boolean {
    const rows: (readonly string[])[] = [];
    for (const row of all) {
      this.#characters += row.reduce((sum, cell) => sum + cell.length + CELL_COST, CELL_COST);
      if (this.#characters > MAX_CHARACTERS) this.isTruncated = true;
      if (this.isTruncated) break;
      rows.push(row);
    }
    if (this.#blocks.length >= MAX_BLOCKS) this.isTruncated = true;
    else if (rows.length > 0) this.#blocks.push(limited({ kind: 'table', rows }, this.#limit));
    return !this.isTruncated;
  }

  /** Adds a sheet without the empty rows at its end, up to the limit of characters. */
  addSheet(name: string, all: readonly (readonly string[])[]): void {
    const rows: (readonly string[])[] = [];
    const end = all.findLastIndex((row) => row.some((cell) => cell !== '')) + 1;
    let isCut = false;
    for (const row of all.slice(0, end)) {
      this.#sheetCharacters += row.reduce((sum, cell) => sum + cell.length, row.length + 1);
      isCut = this.#sheetCharacters > MAX_SHEET_CHARACTERS;
      if (isCut) break;
      rows.push(row);
    }
    this.add(sheetOf(name, rows));
    if (isCut) this.isTruncated = true;
  }

  /** Adds a text, unless it is empty. */
  addText(kind: 'paragraph' | 'item', text: string): boolean {
    const trimmed = text.replaceAll(/[^\S\n]+/g, ' ').trim();
    return trimmed === '' || this.add({ kind, text: trimmed });
  }

  finish(): ExtractedDocument {
    return { blocks: this.#blocks, isTruncated: this.isTruncated };
  }
}

/** Returns a block with a limited number of bidirectional control characters. */
function limited(block: Block, limit: BidiLimit): Block {
  const rowsOf = (rows: readonly (readonly string[])[]) => rows.map((row) => row.map((cell) => limit.apply(cell)));
  switch (block.kind) {
    case 'heading':
    case 'paragraph':
    case 'item':
      return { ...block, text: limit.apply(block.text) };
    case 'table':
      return { ...block, rows: rowsOf(block.rows) };
    case 'sheet':
      return { ...block, name: limit.apply(block.name), table: { ...block.table, rows: rowsOf(block.table.rows) } };
    case 'fields':
      return { ...block, fields: block.fields.map(([name, value]) => [name, limit.apply(value)] as const) };
    case 'slide':
      return block;
  }
}

/** Returns a sheet as a table, whose header has the letters of the columns. */
function sheetOf(name: string, rows: readonly (readonly string[])[]): Block {
  let width = 0;
  for (const { length } of rows) width = Math.max(width, length);
  return {
    kind: 'sheet',
    name,
    table: tableOf(
      Array.from({ length: width }, (_, index) => lettersOf(index)),
      rows,
      rows.length,
    ),
  };
}

/** Returns the letters of a column: `A` for 0, `Z` for 25, `AA` for 26. */
function lettersOf(index: number): string {
  const letter = String.fromCharCode(65 + (index % 26));
  return index < 26 ? letter : lettersOf(Math.floor(index / 26) - 1) + letter;
}
