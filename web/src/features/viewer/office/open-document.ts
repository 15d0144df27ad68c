import { DocumentBuilder, type ExtractedDocument, MAX_SHEET_CELLS, MAX_SHEET_COLUMNS } from './document.ts';
import { unzipTexts } from './unzip.ts';
import { attribute, readXml } from './xml.ts';

/** The maximum number of rows that a file repeats. */
const MAX_REPEATED_ROWS = 1_000;

/** Returns the text, the sheets or the slides of an OpenDocument file (ISO/IEC 26300). */
export function extractOpenDocument(bytes: Uint8Array, kind: 'odt' | 'ods' | 'odp'): ExtractedDocument {
  const xml = unzipTexts(bytes, (name) => name === 'content.xml').get('content.xml');
  if (xml === undefined) throw new Error('The file is not an OpenDocument.');
  const builder = new DocumentBuilder();
  let text = '';
  let level = 0;
  let items = 0;
  let slides = 0;
  let cells = 0;
  let sheet = '';
  let isBody = false;
  let isCut = false;
  let rows: string[][] | undefined;
  let row: string[] = [];
  /** Empty rows that count if a row with content follows. */
  let emptyRows = 0;
  let rowRepeats = 1;
  let cell: { text: string; repeats: number } | undefined;
  const addTable = (table: readonly (readonly string[])[]) => {
    if (kind === 'ods') builder.addSheet(sheet, table);
    else builder.add({ kind: 'table', rows: table });
  };
  for (const event of readXml(xml)) {
    if (event.kind === 'text') {
      if (isBody) text += event.text.replaceAll(/\s+/g, ' ');
      continue;
    }
    const { name } = event;
    if (event.kind === 'start') {
      const { attributes } = event;
      const repeats = (key: string, max: number) =>
        Math.max(1, Math.min(max, Number(attribute(attributes, key) ?? 1) || 1));
      if (name === 'body') isBody = true;
      else if (name === 'p' || name === 'h') {
        text = '';
        level = name === 'h' ? repeats('outline-level', 6) : 0;
      } else if (name === 's') text += ' '.repeat(repeats('c', 100));
      else if (name === 'tab') text += '\t';
      else if (name === 'line-break') text += '\n';
      else if (name === 'list-item') items++;
      else if (name === 'page' && kind === 'odp') builder.add({ kind: 'slide', number: ++slides });
      else if (name === 'table') {
        rows = [];
        emptyRows = 0;
        sheet = attribute(attributes, 'name') ?? '';
      } else if (name === 'table-row') {
        row = [];
        rowRepeats = repeats('number-rows-repeated', Number.MAX_SAFE_INTEGER);
      } else if (name === 'table-cell' || name === 'covered-table-cell') {
        cell = { text: '', repeats: repeats('number-columns-repeated', Number.MAX_SAFE_INTEGER) };
      }
    } else if (name === 'p' || name === 'h') {
      const isHeading = level > 0 && text.trim() !== '';
      if (cell) cell.text = `${cell.text}\n${text}`.trim();
      else if (isHeading) builder.add({ kind: 'heading', level, text: text.trim() });
      else builder.addText(items > 0 ? 'item' : 'paragraph', text);
      text = '';
    } else if (name === 'list-item') items--;
    else if ((name === 'table-cell' || name === 'covered-table-cell') && cell) {
      const added = Math.min(cell.repeats, MAX_SHEET_COLUMNS - row.length);
      for (let count = 0; count < added; count++) row.push(cell.text);
      if (added < cell.repeats && cell.text !== '') isCut = true;
      cell = undefined;
    } else if (name === 'table-row' && rows) {
      while (row.length > 0 && row.at(-1) === '') row.pop();
      // Sheets end with a million of repeated empty rows.
      if (row.length === 0) emptyRows += rowRepeats;
      else {
        const before = Math.min(emptyRows, MAX_REPEATED_ROWS);
        for (let count = 0; count < before; count++) rows.push([]);
        cells += before;
        emptyRows = 0;
        if (rowRepeats > MAX_REPEATED_ROWS) isCut = true;
        for (let count = 0; count < Math.min(rowRepeats, MAX_REPEATED_ROWS) && cells < MAX_SHEET_CELLS; count++) {
          rows.push(row);
          cells += row.length;
        }
      }
    } else if (name === 'table' && rows) {
      addTable(rows);
      rows = undefined;
    }
    if (cells >= MAX_SHEET_CELLS || builder.isTruncated) break;
  }
  if (rows) addTable(rows);
  if (isCut || cells >= MAX_SHEET_CELLS) builder.isTruncated = true;
  return builder.finish();
}
