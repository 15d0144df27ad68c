import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractDocument } from '../../../web/src/features/viewer/office/extract.ts';
import { previewKindOf } from '../../../web/src/platform/preview-kinds.ts';
import { bomb, EXCEL, MAIL, ODP, ODS, ODT, openDocument, POWERPOINT, WORD, word } from '../office-samples.ts';

const blocksOf = async (bytes: Uint8Array, format: Parameters<typeof extractDocument>[1]) => {
  const document = await extractDocument(bytes, format);
  assert.ok(document);
  return document.blocks;
};

describe('The text of', () => {
  it('a Word document has headings, paragraphs, items and tables', async () => {
    assert.deepEqual(await blocksOf(WORD, 'docx'), [
      { kind: 'heading', level: 1, text: 'Plan & goals' },
      { kind: 'paragraph', text: 'First line\nsecond 😀' },
      { kind: 'item', text: 'An item' },
      { kind: 'table', rows: [['a\nb', 'c']] },
    ]);
  });

  it('a workbook has a table for each sheet', async () => {
    const [prices, empty] = await blocksOf(EXCEL, 'xlsx');
    assert.ok(prices?.kind === 'sheet' && empty?.kind === 'sheet');
    assert.deepEqual([prices.name, empty.name, empty.table.rows], ['Prices', 'Empty', []]);
    assert.deepEqual(
      prices.table.columns.map(({ name }) => name),
      ['A', 'B', 'C'],
    );
    assert.deepEqual(prices.table.rows, [['Tea', '', '3.5'], [], ['Coffee', 'TRUE', 'inline']]);
  });

  it('a presentation has the slides in their order', async () => {
    assert.deepEqual(await blocksOf(POWERPOINT, 'pptx'), [
      { kind: 'slide', number: 1 },
      { kind: 'heading', level: 2, text: 'First' },
      { kind: 'paragraph', text: 'two' },
      { kind: 'slide', number: 2 },
      { kind: 'heading', level: 2, text: 'Last' },
      { kind: 'paragraph', text: 'ten' },
    ]);
  });

  it('an OpenDocument file has the same', async () => {
    assert.deepEqual(await blocksOf(ODT, 'odt'), [
      { kind: 'heading', level: 2, text: 'Head' },
      { kind: 'paragraph', text: 'One two x' },
      { kind: 'item', text: 'item' },
    ]);
    const [sheet] = await blocksOf(ODS, 'ods');
    assert.ok(sheet?.kind === 'sheet');
    assert.deepEqual(sheet.table.rows, [['7', '7']]);
    assert.deepEqual(await blocksOf(ODP, 'odp'), [
      { kind: 'slide', number: 1 },
      { kind: 'paragraph', text: 'Hello' },
      { kind: 'slide', number: 2 },
      { kind: 'paragraph', text: 'Bye' },
    ]);
  });

  it('an e-mail has its fields, its HTML as text, and the names of attachments', async () => {
    assert.deepEqual(await blocksOf(new TextEncoder().encode(MAIL), 'eml'), [
      {
        kind: 'fields',
        fields: [
          ['subject', 'Invoice'],
          ['from', 'Jürgen <j@example.org>'],
          ['to', 'ann@example.org, Bob <bob@example.org>'],
          ['date', '2026-11-27T08:00:00.000Z'],
          ['attachments', 'invoice.pdf'],
        ],
      },
      { kind: 'paragraph', text: 'Hello <Ann>' },
      { kind: 'paragraph', text: 'Bye' },
    ]);
  });
});

const sheetWith = (rows: string) => openDocument(`<table:table table:name="S">${rows}</table:table>`);

it('Empty cells and rows at the end of a sheet are omitted, and those in between are kept', async () => {
  const row = (text: string) =>
    `<table:table-row><table:table-cell><text:p>${text}</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16383"/></table:table-row>`;
  const empty = (count: number) =>
    `<table:table-row table:number-rows-repeated="${count}"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>`;
  const document = await extractDocument(
    sheetWith(`${row('x').repeat(2_000)}${empty(3)}${row('y')}${empty(1_046_572)}`),
    'ods',
  );
  const [sheet] = document?.blocks ?? [];
  assert.ok(sheet?.kind === 'sheet');
  assert.deepEqual([sheet.table.rows.length, sheet.table.columns.length, document?.isTruncated], [2_004, 1, false]);
  assert.deepEqual(sheet.table.rows.slice(1_999), [['x'], [], [], [], ['y']]);
});

describe('A hostile document', () => {
  it('has no preview if it is a bomb, truncated, or no archive at all', async () => {
    const packed = bomb();
    assert.ok(packed.length < 1024 * 1024);
    for (const bytes of [packed, WORD.subarray(0, 300), new TextEncoder().encode('no archive'), new Uint8Array()]) {
      assert.equal(await extractDocument(bytes, 'docx'), undefined);
    }
  });

  it('has no entities of its own, and no endless nesting', async () => {
    const entity = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><w:p><w:r><w:t>&a;</w:t></w:r></w:p>';
    assert.equal(await extractDocument(word(entity), 'docx'), undefined);
    assert.equal(await extractDocument(word('<w:p>'.repeat(100_000)), 'docx'), undefined);
    assert.equal(await extractDocument(word('<w:p><w:r><w:t>unfinished'), 'docx').then((d) => d?.blocks.length), 0);
  });

  it('is shown up to its limits', async () => {
    const paragraph = '<w:p><w:r><w:t>x</w:t></w:r></w:p>';
    const document = await extractDocument(word(paragraph.repeat(20_000)), 'docx');
    assert.deepEqual([document?.blocks.length, document?.isTruncated], [5_000, true]);
  });

  it('repeats rows, columns and long texts only up to the limits of a sheet', async () => {
    const shown = async (text: string) => {
      const document = await extractDocument(
        sheetWith(`<table:table-row table:number-rows-repeated="1000000000">
        <table:table-cell table:number-columns-repeated="1000000000"><text:p>${text}</text:p></table:table-cell>
      </table:table-row>`),
        'ods',
      );
      const [sheet] = document?.blocks ?? [];
      assert.ok(sheet?.kind === 'sheet');
      const { rows, columns } = sheet.table;
      return { rows: rows.length, columns: columns.length, isTruncated: document?.isTruncated };
    };
    assert.deepEqual(await shown('x'), { rows: 1_000, columns: 200, isTruncated: true });
    assert.deepEqual(await shown('x'.repeat(1_000_000)), { rows: 0, columns: 0, isTruncated: true });
    assert.deepEqual(await shown('x'.repeat(1_000)), { rows: 49, columns: 200, isTruncated: true });
  });

  it('has tables with a limited number of cells', async () => {
    const row =
      '<table:table-row table:number-rows-repeated="1000"><table:table-cell table:number-columns-repeated="200"><text:p>x</text:p></table:table-cell></table:table-row>';
    const document = await extractDocument(openDocument(`<table:table>${row}</table:table>`), 'odt');
    const [table] = document?.blocks ?? [];
    assert.ok(table?.kind === 'table');
    assert.deepEqual([table.rows.flat().length, document?.isTruncated], [9_800, true]);
    const empty = await extractDocument(word(`<w:tbl>${'<w:tr><w:tc/></w:tr>'.repeat(20_000)}</w:tbl>`), 'docx');
    assert.deepEqual(
      empty?.blocks.map((block) => block.kind === 'table' && block.rows.length),
      [4_999],
    );
  });

  it('has a limited number of marked control characters, however often it repeats them', async () => {
    const row = `<table:table-row table:number-rows-repeated="200"><table:table-cell table:number-columns-repeated="9">
      <text:p>${'\u202e'.repeat(90)}</text:p></table:table-cell></table:table-row>`;
    const [sheet] = await blocksOf(sheetWith(row), 'ods');
    assert.ok(sheet?.kind === 'sheet');
    assert.equal(sheet.table.rows.flat().join('').split('\u202e').length - 1, 1_000);
    assert.equal(sheet.table.rows.at(-1)?.at(-1), '⟨U+202E⟩'.repeat(90));
  });
});

it('Only files up to 20 MB are read', () => {
  const entry = { type: 'file', path: 'a.docx', name: 'a.docx', modified: null, contentType: '', etag: '' } as const;
  assert.deepEqual(
    [previewKindOf({ ...entry, size: 20e6 }), previewKindOf({ ...entry, size: 20e6 + 1 })],
    ['office', 'none'],
  );
});
