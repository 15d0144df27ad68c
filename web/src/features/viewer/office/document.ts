import { type ParsedTable, tableOf } from '../table/parse-table.ts';

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
/** The maximum number of cells of a sheet, and of columns that a file repeats. */
export const MAX_SHEET_CELLS = 300_000;
export const MAX_SHEET_COLUMNS = 200;

/** Collects the blocks of a document up to their limits. */
export class DocumentBuilder {
  readonly #blocks: Block[] = [];
  #characters = 0;
  isTruncated = false;

  /** Adds a block. Returns false once the document is too long. */
  add(block: Block): boolean {
    if (this.isTruncated) return false;
    this.#characters += 'text' in block ? block.text.length : 100;
    if (block.kind === 'table') for (const cell of block.rows.flat()) this.#characters += cell.length;
    if (this.#blocks.length >= MAX_BLOCKS || this.#characters > MAX_CHARACTERS) this.isTruncated = true;
    else this.#blocks.push(block);
    return !this.isTruncated;
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

/** Returns a sheet as a table, whose header has the letters of the columns. */
export function sheetOf(name: string, rows: readonly (readonly string[])[]): Block {
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
