import { DocumentBuilder, type ExtractedDocument, MAX_SHEET_CELLS, MAX_SHEET_COLUMNS } from './document.ts';
import { unzipTexts } from './unzip.ts';
import { attribute, readXml } from './xml.ts';

/* Documents of Office Open XML (ECMA-376): Word, Excel and PowerPoint. */

/** Returns the paragraphs and tables of a Word document. */
export function extractWord(bytes: Uint8Array): ExtractedDocument {
  const xml = unzipTexts(bytes, (name) => name === 'word/document.xml').get('word/document.xml');
  if (xml === undefined) throw new Error('The file is not a Word document.');
  const builder = new DocumentBuilder();
  let text = '';
  let style = '';
  let isItem = false;
  let isText = false;
  const tables: string[][][] = [];
  for (const event of readXml(xml)) {
    if (event.kind === 'text') {
      if (isText) text += event.text;
      continue;
    }
    const { kind, name } = event;
    const table = tables.at(-1);
    if (kind === 'start') {
      if (name === 't') isText = true;
      else if (name === 'tab') text += '\t';
      else if (name === 'br' || name === 'cr') text += '\n';
      else if (name === 'pStyle') style = attribute(event.attributes, 'val') ?? '';
      else if (name === 'numPr') isItem = true;
      else if (name === 'tbl') tables.push([]);
      else if (name === 'tr') table?.push([]);
      else if (name === 'tc') table?.at(-1)?.push('');
    } else if (name === 't') isText = false;
    else if (name === 'p') {
      const row = table?.at(-1);
      if (row && row.length > 0) row.push(`${row.pop() ?? ''}\n${text}`.trim());
      else if (!addParagraph(builder, { text, style, isItem })) break;
      text = '';
      style = '';
      isItem = false;
    } else if (name === 'tbl' && table) {
      tables.pop();
      const outer = tables.at(-1)?.at(-1);
      // A table within a cell is a part of its text.
      if (outer) outer.push(`${outer.pop() ?? ''}\n${table.map((row) => row.join(' ')).join('\n')}`.trim());
      else if (!builder.add({ kind: 'table', rows: table })) break;
    }
  }
  return builder.finish();
}

function addParagraph(
  builder: DocumentBuilder,
  { text, style, isItem }: { text: string; style: string; isItem: boolean },
): boolean {
  // The names of styles are the same in all languages of Word, except in documents of other programs.
  const level = /^(?:heading|berschrift|Überschrift|Titre)\s?(?<level>[1-6])$/i.exec(style)?.groups?.['level'];
  if (text.trim() !== '' && (level !== undefined || /^title$/i.test(style))) {
    return builder.add({ kind: 'heading', level: Number(level ?? 1), text: text.trim() });
  }
  return builder.addText(isItem ? 'item' : 'paragraph', text);
}

/** Returns the text of the slides of a PowerPoint presentation. */
export function extractPowerPoint(bytes: Uint8Array): ExtractedDocument {
  const slides = unzipTexts(bytes, (name) => /^ppt\/slides\/slide\d{1,5}\.xml$/.test(name));
  if (slides.size === 0) throw new Error('The file is not a presentation.');
  const builder = new DocumentBuilder();
  const numberOf = (name: string) => Number(/\d+/.exec(name)?.[0]);
  const sorted = [...slides].toSorted(([left], [right]) => numberOf(left) - numberOf(right));
  for (const [index, [, xml]] of sorted.entries()) {
    builder.add({ kind: 'slide', number: index + 1 });
    let text = '';
    let isText = false;
    let isTitle = false;
    for (const event of readXml(xml)) {
      if (event.kind === 'text') {
        if (isText) text += event.text;
      } else if (event.name === 't') isText = event.kind === 'start';
      else if (event.kind === 'start' && event.name === 'ph') {
        isTitle = /^(ctrT|t)itle$/.test(attribute(event.attributes, 'type') ?? '');
      } else if (event.kind === 'start' && event.name === 'br') text += '\n';
      else if (event.kind === 'end' && event.name === 'p') {
        const isHeading = isTitle && text.trim() !== '';
        if (isHeading) builder.add({ kind: 'heading', level: 2, text: text.trim() });
        else builder.addText('paragraph', text);
        text = '';
      } else if (event.kind === 'end' && event.name === 'sp') isTitle = false;
    }
  }
  return builder.finish();
}

/** Returns the sheets of an Excel workbook, with the values that Excel stored for formulas. Dates are numbers. */
export function extractExcel(bytes: Uint8Array): ExtractedDocument {
  const files = unzipTexts(bytes, (name) =>
    /^xl\/(workbook|sharedStrings|worksheets\/sheet\d{1,5}|_rels\/workbook)\.xml(\.rels)?$/.test(name),
  );
  const workbook = files.get('xl/workbook.xml');
  if (workbook === undefined) throw new Error('The file is not a workbook.');
  const targets = new Map<string, string>();
  for (const event of readXml(files.get('xl/_rels/workbook.xml.rels') ?? '')) {
    if (event.kind !== 'start' || event.name !== 'Relationship') continue;
    const target = attribute(event.attributes, 'Target') ?? '';
    targets.set(attribute(event.attributes, 'Id') ?? '', target.startsWith('/') ? target.slice(1) : `xl/${target}`);
  }
  const strings = sharedStringsOf(files.get('xl/sharedStrings.xml') ?? '');
  const builder = new DocumentBuilder();
  for (const event of readXml(workbook)) {
    if (event.kind !== 'start' || event.name !== 'sheet') continue;
    // The attribute "r:id" has the name "id".
    const xml = files.get(targets.get(attribute(event.attributes, 'id') ?? '') ?? '');
    if (xml === undefined) continue;
    const { rows, isTruncated } = rowsOf(xml, strings);
    builder.addSheet(attribute(event.attributes, 'name') ?? '', rows);
    if (isTruncated) builder.isTruncated = true;
  }
  return builder.finish();
}

function sharedStringsOf(xml: string): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let isText = false;
  let isPhonetic = false;
  for (const event of readXml(xml)) {
    if (event.kind === 'text') {
      if (isText && !isPhonetic) text += event.text;
    } else if (event.name === 't') isText = event.kind === 'start';
    else if (event.name === 'rPh') isPhonetic = event.kind === 'start';
    else if (event.kind === 'end' && event.name === 'si') {
      strings.push(text);
      text = '';
    }
  }
  return strings;
}

function rowsOf(
  xml: string,
  strings: readonly string[],
): { rows: readonly (readonly string[])[]; isTruncated: boolean } {
  const rows: string[][] = [];
  let cells = 0;
  let type = '';
  let column = 0;
  let nextColumn = 0;
  let value = '';
  let isValue = false;
  for (const event of readXml(xml)) {
    if (event.kind === 'text') {
      if (isValue) value += event.text;
    } else if (event.name === 'row' && event.kind === 'start') {
      const number = Number(attribute(event.attributes, 'r') ?? rows.length + 1);
      // Empty rows in between are kept as far as they are few.
      while (rows.length < number - 1 && rows.length < 100_000 && number - rows.length < 1_000) rows.push([]);
      rows.push([]);
      nextColumn = 0;
      if (rows.length > MAX_SHEET_CELLS) return { rows, isTruncated: true };
    } else if (event.name === 'c' && event.kind === 'start') {
      type = attribute(event.attributes, 't') ?? '';
      column = columnOf(attribute(event.attributes, 'r')) ?? nextColumn;
      nextColumn = column + 1;
      value = '';
    } else if (event.name === 'v' || event.name === 't') isValue = event.kind === 'start';
    else if (event.name === 'c' && event.kind === 'end' && column < MAX_SHEET_COLUMNS) {
      const row = rows.at(-1);
      // Formatted cells can be empty.
      if (!row || value === '') continue;
      cells += Math.max(1, column + 1 - row.length);
      if (cells > MAX_SHEET_CELLS) return { rows, isTruncated: true };
      while (row.length < column) row.push('');
      row[column] =
        type === 's' ? (strings[Number(value)] ?? '') : type === 'b' ? (value === '1' ? 'TRUE' : 'FALSE') : value;
    }
  }
  return { rows, isTruncated: false };
}

/** Returns the index of the column in a reference such as `AB12`. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return undefined;
  return letters.split('').reduce((index, letter) => index * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
