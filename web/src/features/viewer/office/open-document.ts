import { DocumentBuilder, type ExtractedDocument, MAX_SHEET_CELLS, MAX_SHEET_COLUMNS, sheetOf } from './document.ts';
import { unzipTexts } from './unzip.ts';
import { attribute, readXml } from './xml.ts';

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
  let rows: string[][] | undefined;
  let rowRepeats = 1;
  let cell: { text: string; repeats: number } | undefined;
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
        sheet = attribute(attributes, 'name') ?? '';
      } else if (name === 'table-row') {
        rows?.push([]);
        rowRepeats = repeats('number-rows-repeated', 1_000);
      } else if (name === 'table-cell' || name === 'covered-table-cell') {
        cell = { text: '', repeats: repeats('number-columns-repeated', MAX_SHEET_COLUMNS) };
      }
    } else if (name === 'p' || name === 'h') {
      const isHeading = level > 0 && text.trim() !== '';
      if (cell) cell.text = `${cell.text}\n${text}`.trim();
      else if (isHeading) builder.add({ kind: 'heading', level, text: text.trim() });
      else builder.addText(items > 0 ? 'item' : 'paragraph', text);
      text = '';
    } else if (name === 'list-item') items--;
    else if ((name === 'table-cell' || name === 'covered-table-cell') && cell) {
      const row = rows?.at(-1);
      for (let count = 0; row && count < cell.repeats && row.length < MAX_SHEET_COLUMNS; count++) row.push(cell.text);
      cells += cell.repeats;
      cell = undefined;
    } else if (name === 'table-row' && rows) {
      const row = rows.at(-1) ?? [];
      while (row.length > 0 && row.at(-1) === '') row.pop();
      // Sheets end with a million of repeated empty rows.
      for (let count = 1; row.length > 0 && count < rowRepeats && cells < MAX_SHEET_CELLS; count++) {
        rows.push(row);
        cells += row.length;
      }
    } else if (name === 'table' && rows) {
      while (rows.length > 0 && rows.at(-1)?.length === 0) rows.pop();
      builder.add(kind === 'ods' ? sheetOf(sheet, rows) : { kind: 'table', rows });
      rows = undefined;
    }
    if (cells > MAX_SHEET_CELLS || builder.isTruncated) break;
  }
  if (rows) builder.add(kind === 'ods' ? sheetOf(sheet, rows) : { kind: 'table', rows });
  if (cells > MAX_SHEET_CELLS) builder.isTruncated = true;
  return builder.finish();
}
