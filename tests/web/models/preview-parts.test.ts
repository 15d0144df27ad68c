import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoomedBy } from '../../../web/src/features/viewer/image/zoom.ts';
import { parseJson } from '../../../web/src/features/viewer/json/parse-json.ts';
import { resolveDestination } from '../../../web/src/features/viewer/markdown/links.ts';
import { parseTable } from '../../../web/src/features/viewer/table/parse-table.ts';
import { type ColumnOrder, sortRows } from '../../../web/src/features/viewer/table/sort-rows.ts';
import { BidiLimit, bidiPartsOf } from '../../../web/src/features/viewer/text/bidi-parts.ts';
import { blocksOf, createTextDecoder } from '../../../web/src/features/viewer/text/read-text.ts';
import { familyOf, hasThumbnail } from '../../../web/src/platform/file-kinds.ts';
import { isEditable, previewKindOf } from '../../../web/src/platform/preview-kinds.ts';
import { typeLabel } from '../../../web/src/platform/type-names.ts';
import { textOf, withoutIsolates } from './languages.ts';

test('The type of a file is named after its format', async () => {
  const english = await textOf('en');
  for (const [type, extension, label] of [
    ['image/jpeg', '.jpg', 'JPEG image'],
    ['image/svg+xml', '.svg', 'SVG image'],
    ['image/vnd.adobe.photoshop', '.psd', 'PSD image'],
    ['video/mp4', '.mp4', 'MP4 video'],
    ['video/mp2t', '.ts', 'TypeScript source'],
    ['audio/x-wav', '.wav', 'WAV audio'],
    ['application/pdf', '.pdf', 'PDF document'],
    ['application/zip', '.zip', 'ZIP archive'],
    ['application/gzip', '.tar.gz', 'Gzip archive'],
    ['text/x-python', '.py', 'Python source'],
    ['application/octet-stream', '.py', 'Python source'],
    ['text/plain; charset=utf-8', '.txt', 'Plain text'],
    ['text/plain', '.log', 'Plain text'],
    ['text/csv', '.csv', 'CSV table'],
    ['application/octet-stream', '.bin', 'BIN file'],
    ['application/octet-stream', '', 'File'],
    ['', '.valueof', 'VALUEOF file'],
  ] as const) {
    assert.equal(
      withoutIsolates(typeLabel({ name: `x${extension}`, contentType: type }, english)),
      label,
      `${type} ${extension}`,
    );
  }
  assert.equal(
    withoutIsolates(typeLabel({ name: 'x.jpg', contentType: 'image/jpeg' }, await textOf('zh-Hans'))),
    'JPEG 图片',
  );
});

test('The preview of a file is chosen by its media type, otherwise by its extension, and by its size', () => {
  for (const [name, contentType, size, kind] of [
    ['a.jpg', 'image/jpeg', 9e9, 'image'],
    ['a.jpg', 'application/octet-stream', 1, 'image'],
    ['a.jfif', 'image/pjpeg', 1, 'image'],
    ['a.jfif', 'application/octet-stream', 1, 'image'],
    ['a.psd', 'image/vnd.adobe.photoshop', 1, 'none'],
    ['a.svg', 'image/svg+xml', 1, 'image'],
    ['a.svg', 'application/octet-stream', 1, 'text'],
    ['a.ts', 'video/mp2t', 1, 'text'],
    ['a.ts', 'text/vnd.trolltech.linguist', 1, 'text'],
    ['a.m2ts', 'video/mp2t', 1, 'video'],
    ['a.ogg', 'application/ogg', 1, 'audio'],
    ['a.pdf', 'application/pdf', 9e9, 'pdf'],
    ['a.pdf', 'text/html', 1, 'text'],
    ['README.md', 'application/octet-stream', 1, 'markdown'],
    ['README.md', 'text/markdown; charset=utf-8', 3e6, 'text'],
    ['a.json', 'application/json', 1, 'json'],
    ['a.json', 'application/json', 3e6, 'text'],
    ['a.csv', 'application/vnd.ms-excel', 1, 'table'],
    ['a.html', 'text/html', 1, 'text'],
    ['LICENSE', 'application/octet-stream', 1e5, 'text'],
    ['image.iso', 'application/octet-stream', 2e6, 'none'],
    ['large.csv', 'text/csv', 20e6, 'table'],
    ['larger.csv', 'text/csv', 20e6 + 1, 'text'],
    ['a.log', 'application/octet-stream', 2e9, 'text'],
    ['a.zip', 'application/zip', 1, 'none'],
    ['a.txt', 'text/plain', 0, 'none'],
  ] as const) {
    const entry = { type: 'file', name, path: name, size, contentType, modified: null, etag: '' } as const;
    assert.equal(previewKindOf(entry), kind, `${name} ${contentType} ${size}`);
  }
});

test('JPEG files of Windows are images with thumbnails', () => {
  for (const contentType of ['image/jpeg', 'image/pjpeg']) {
    const entry = {
      type: 'file',
      name: 'a.jfif',
      path: 'a.jfif',
      size: 1,
      contentType,
      modified: null,
      etag: '',
    } as const;
    assert.deepEqual([familyOf(entry), hasThumbnail(entry)], ['image', true]);
  }
});

test('Text files of up to 2 MB can be edited', () => {
  const editable = (name: string, size: number) =>
    isEditable({ type: 'file', name, path: name, size, contentType: '', modified: null, etag: '' });
  assert.deepEqual(
    ['a.csv', 'a.txt', 'a.svg'].map((name) => [editable(name, 0), editable(name, 2e6), editable(name, 2e6 + 1)]),
    [
      [true, true, false],
      [true, true, false],
      [true, true, false],
    ],
  );
});

test('A text is split at its bidirectional control characters', () => {
  assert.deepEqual(bidiPartsOf('plain'), [{ text: 'plain' }]);
  assert.deepEqual(bidiPartsOf('a\u202e\u2066b\u200f'), [
    { text: 'a' },
    { text: '\u202e', code: '⟨U+202E⟩' },
    { text: '\u2066', code: '⟨U+2066⟩' },
    { text: 'b' },
    { text: '\u200f', code: '⟨U+200F⟩' },
  ]);
});

test('A text and a file have a limited number of marked control characters, and the code points of the others', () => {
  const parts = bidiPartsOf('\u202ex'.repeat(100_000));
  assert.equal(parts.filter(({ code }) => code !== undefined).length, 100);
  assert.equal(parts.at(-1)?.text, `x${'⟨U+202E⟩x'.repeat(99_900)}`);

  const controls = (text: string) => text.split('\u2067').length - 1;
  const limit = new BidiLimit();
  assert.equal(limit.apply('a\u2067'.repeat(999)), 'a\u2067'.repeat(999));
  assert.equal(limit.apply('b\u2067b\u2067'), 'b\u2067b⟨U+2067⟩');
  assert.equal(limit.apply('plain'), 'plain');
  assert.equal(controls(new BidiLimit().apply('a\u2067\n'.repeat(5_000))), 1_000);

  const source = JSON.stringify(['\\u202e', '\u202e', '\n"'.repeat(9)]);
  assert.equal(new BidiLimit().applyToJson(source), source);
  const escaped = `["${String.raw`\\u202e \u202E \\\u2067`.repeat(2_000)}"]`;
  const [shown] = JSON.parse(new BidiLimit().applyToJson(escaped)) as string[];
  assert.equal(shown?.match(/[\u202e\u2067]/g)?.length, 1_000);
  assert.ok(shown?.endsWith(String.raw`\u202e ⟨U+202E⟩ \⟨U+2067⟩`), shown?.slice(-40));

  const table = parseTable(`n\n${'\u2067\n'.repeat(5_000)}`, false);
  assert.equal(controls(table.rows.flat().join('')), 1_000);
});

test('Relative links are resolved from the folder of the text, and never above the root', () => {
  const path = (reference: string) => resolveDestination('a/b/', reference);
  assert.deepEqual(path('c.txt'), { kind: 'path', path: 'a/b/c.txt' });
  assert.deepEqual(path('./c%20d.txt?x=1#y'), { kind: 'path', path: 'a/b/c d.txt' });
  assert.deepEqual(path('../c/'), { kind: 'path', path: 'a/c/' });
  assert.deepEqual(path('../../../../c'), { kind: 'path', path: 'c' });
  assert.deepEqual(path('..'), { kind: 'path', path: 'a/' });
  assert.deepEqual(path('/'), { kind: 'path', path: '' });
  assert.deepEqual(path('/x'), { kind: 'path', path: 'x' });
  assert.deepEqual(path('#a%20b'), { kind: 'fragment', fragment: 'a b' });
  assert.deepEqual(path('//x.example/y'), { kind: 'external', url: 'https://x.example/y' });
  assert.deepEqual(path('mailto:a@x.example'), { kind: 'external', url: 'mailto:a@x.example' });
  assert.equal(path('100%'), undefined);
});

test('A text is decoded across ranges in its own encoding', () => {
  const decode = (parts: readonly Uint8Array[], contentType = 'text/plain', language = 'en') => {
    const [first = new Uint8Array()] = parts;
    const decoder = createTextDecoder(first, { contentType, language, isWhole: parts.length === 1 });
    return decoder && parts.map((part, index) => decoder(part, index === parts.length - 1)).join('');
  };
  const bytes = Buffer.from('a文件🎉');
  for (let at = 1; at < bytes.length; at++) {
    assert.equal(decode([bytes.subarray(0, at), bytes.subarray(at)]), 'a文件🎉', `cut at ${at}`);
  }
  assert.equal(decode([Buffer.from('\ufeffmarked')]), 'marked');
  assert.equal(decode([Buffer.from('\ufeffwide', 'utf16le')]), 'wide');
  assert.equal(decode([Buffer.from('\ufeffwide', 'utf16le').swap16()]), 'wide');
  assert.equal(decode([Buffer.from('caf\xe9', 'latin1')]), 'café');
  assert.equal(decode([Buffer.from([0xce, 0xc4, 0xbc, 0xfe])], 'text/plain', 'zh-Hans'), '文件');
  assert.equal(decode([Buffer.from([0x93, 0xfa, 0x96, 0x7b])], 'text/plain', 'ja'), '日本');
  assert.equal(decode([Buffer.from([0xe3, 0xe1, 0xdd])], 'text/plain', 'ar'), 'ملف');
  assert.equal(decode([Buffer.from([0xce, 0xc4, 0xbc, 0xfe])], 'text/plain; charset=GBK'), '文件');
  assert.equal(decode([Buffer.from('plain')], 'text/plain; charset=nonsense'), 'plain');
  assert.equal(decode([Buffer.from([65, 0, 66])]), undefined);
});

test('A text is split into blocks of lines at CR, LF and CRLF', () => {
  assert.deepEqual(blocksOf('a\r\nb\n\rc', 5), { blocks: [{ firstLine: 5, lines: ['a', 'b', ''] }], rest: 'c' });
  // A CR at the very end may be the half of a line end.
  assert.deepEqual(blocksOf('a\r', 1), { blocks: [], rest: 'a\r' });
  const { blocks, rest } = blocksOf('x\n'.repeat(450), 1);
  assert.deepEqual(
    [blocks.map(({ firstLine, lines }) => [firstLine, lines.length]), rest],
    [
      [
        [1, 200],
        [201, 200],
        [401, 50],
      ],
      '',
    ],
  );
});

test('JSON keeps the source of numbers and keys, and invalid JSON is rejected', () => {
  const number = (source: string) => ({ kind: 'number', source });
  const list = (...values: object[]) => ({
    kind: 'list',
    members: values.map((value, place) => [String(place), value]),
  });
  assert.deepEqual(
    parseJson('[12345678901234567890, 1e400, 1.0, -0, true, "a\\"b\\\\"]'),
    list(
      ...['12345678901234567890', '1e400', '1.0', '-0'].map(number),
      { kind: 'boolean', source: 'true' },
      {
        kind: 'string',
        source: '"a\\"b\\\\"',
      },
    ),
  );
  assert.deepEqual(parseJson(' {"a": 1, "\\u0061": [] , "__proto__": {}}\n'), {
    kind: 'object',
    members: [
      ['a', number('1')],
      ['a', list()],
      ['__proto__', { kind: 'object', members: [] }],
    ],
  });
  assert.deepEqual(parseJson('null'), { kind: 'null', source: 'null' });
  for (const text of [
    '',
    ' ',
    '{"a": 1,}',
    '[1,]',
    '[1',
    '{',
    '{"a"}',
    '{a: 1}',
    '"a',
    '"\\x"',
    '"\n"',
    '01',
    '1.',
    '+1',
    '[1] 2',
    'nul',
    'truefalse',
    '\u00a01',
    'NaN',
  ]) {
    assert.equal(parseJson(text), 'invalid', JSON.stringify(text));
    assert.throws(() => JSON.parse(text), text);
  }
  assert.equal(parseJson('['.repeat(1e6)), 'too-deep');
  assert.notEqual(parseJson('['.repeat(1000) + ']'.repeat(1000)), 'too-deep');
});

test('JSON is too deep for a tree of nested objects, also inside of lists', () => {
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  assert.equal(parseJson(objects(2_000)), 'too-deep');
  assert.equal(parseJson(`[${objects(1_000)}]`), 'too-deep');
  assert.notEqual(parseJson(objects(500)), 'too-deep');
});

test('A column of a table is numeric when each of its cells is a number or empty', () => {
  const columns = (...cells: readonly string[]) =>
    parseTable(`name\n${cells.map((cell) => `"${cell}"`).join('\n')}`, false).columns.map(({ name, isNumeric }) => ({
      name,
      isNumeric,
    }));
  for (const cell of ['1', '-1,000.50', '+1 000', ' 12 %', '12%', '.5', '  ', '1.']) {
    assert.deepEqual(columns('7', cell), [{ name: 'name', isNumeric: true }], JSON.stringify(cell));
  }
  for (const cell of ['x', '1x', '%', '1%%', '--1', ',', '1e3', '2026-11-22']) {
    assert.deepEqual(columns('7', cell), [{ name: 'name', isNumeric: false }], JSON.stringify(cell));
  }
});

test('A table shows a limited number of rows and columns, and counts all rows', () => {
  const line = Array.from({ length: 300 }, (_, index) => index).join('\t');
  const { columns, rows, rowCount } = parseTable(`${line}\n`.repeat(16_001), true);
  assert.deepEqual([columns.length, rows.length, rows[0]?.length, rowCount], [200, 15_000, 200, 16_000]);
  const narrow = parseTable('x\n'.repeat(200_002), true);
  assert.deepEqual([narrow.rows.length, narrow.rowCount], [200_000, 200_001]);
  assert.deepEqual(parseTable('', false), { columns: [], rows: [], rowCount: 0 });
});

test('A table is parsed without backtracking over a cell of spaces, digits and separators', () => {
  const cell = `${' '.repeat(2_000)}${'0,'.repeat(2_000)}${' '.repeat(2_000)}x`;
  assert.deepEqual(parseTable(`n,x\n"${cell}",1\n`, false).columns, [
    { name: 'n', isNumeric: false, width: 200 },
    { name: 'x', isNumeric: true, width: 1 },
  ]);
});

test('Rows are sorted by numbers in any notation, or as people sort texts, and empty cells are last', () => {
  const sorted = (cells: readonly string[], options: Partial<ColumnOrder> = {}) =>
    [...sortRows({ cells, isNumeric: false, isDescending: false, locale: 'en', ...options })].map(
      (index) => cells[index],
    );
  const numbers = ['10', '', '9.5', '1,000', '-3', '1.000,5', '12 %', '9,75', '1 000 000'];
  const ascending = ['-3', '9.5', '9,75', '10', '12 %', '1,000', '1.000,5', '1 000 000', ''];
  assert.deepEqual(sorted(numbers, { isNumeric: true }), ascending);
  const descending = [...ascending.slice(0, -1).toReversed(), ''];
  assert.deepEqual(sorted(numbers, { isNumeric: true, isDescending: true }), descending);
  assert.deepEqual(sorted(['b', 'file 10', '', 'a', 'file 9', 'Ä', 'B']), [
    'a',
    'Ä',
    'b',
    'B',
    'file 9',
    'file 10',
    '',
  ]);
  assert.deepEqual(sorted(['Ö', 'z', 'o'], { locale: 'sv' }), ['o', 'z', 'Ö']);
  // Equal cells keep their order, also in the other direction.
  const equal = { cells: ['b', 'a ', 'b', ' a'], isNumeric: false, locale: 'en' };
  assert.deepEqual([...sortRows({ ...equal, isDescending: false })], [1, 3, 0, 2]);
  assert.deepEqual([...sortRows({ ...equal, isDescending: true })], [0, 2, 1, 3]);
});

test('Versions, addresses and dates of a table are sorted as such', () => {
  const sorted = (cells: readonly string[], locale = 'en') => {
    const { rows, columns } = parseTable(['name', ...cells.map((cell) => `"${cell}"`)].join('\n'), false);
    const column = rows.map(([cell = '']) => cell);
    const isNumeric = columns[0]?.isNumeric ?? false;
    return [...sortRows({ cells: column, isNumeric, isDescending: false, locale })].map((index) => column[index]);
  };
  const versions = ['1.2.0', '1.9.3', '1.10.0', '2.0.0'];
  const addresses = ['9.255.255.255', '10.0.0.2', '10.0.0.10', '192.168.1.10'];
  const dates = ['31.01.2024', '02.01.2025', '15.06.2025', '15.06.2025 09:30', '1.12.2025'];
  for (const cells of [versions, addresses, dates]) assert.deepEqual(sorted(cells.toReversed()), cells);
  // The part above 12 is the day. Otherwise, the language decides.
  assert.deepEqual(sorted(['02/01/2025', '01/30/2025'], 'de'), ['01/30/2025', '02/01/2025']);
  assert.deepEqual(sorted(['02/01/2025', '01/02/2025'], 'en-US'), ['01/02/2025', '02/01/2025']);
  assert.deepEqual(sorted(['01/02/2025', '02/01/2025'], 'en-GB'), ['02/01/2025', '01/02/2025']);
  assert.deepEqual(sorted(['02.01.2025', 'soon', '01.02.2025']), ['01.02.2025', '02.01.2025', 'soon']);
});

test('Zooming keeps the point under the pointer, within the image', () => {
  const frame = {
    stage: { width: 1000, height: 800 },
    fitted: { width: 1000, height: 500 },
    natural: { width: 4000, height: 2000 },
  };
  const point = { x: 200, y: 100 };
  const zoom = zoomedBy({ scale: 2, x: 0, y: 0 }, 2, point, frame);
  assert.deepEqual(zoom, { scale: 4, x: -200, y: -100 });
  assert.deepEqual(zoomedBy(zoom, 1 / 100, point, frame), { scale: 1, x: 0, y: 0 });
  assert.equal(zoomedBy(zoom, 1000, point, frame).scale, 16);
});
