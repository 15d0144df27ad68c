import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { until } from '../../../testing/until.ts';
import { memory } from '../../contract/backend.ts';
import { assertSameBytes } from '../../contract/bytes.ts';
import {
  assertFailure,
  assertSuccess,
  BOUNDARY,
  beginUpload,
  escapePath,
  type FormPart,
  formOf,
  type HttpResponse,
  plant,
  postBytes,
  postForm,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { served } from '../service.ts';

const PREFIX_FIRST = 'prefix before file';
const FILE_FIRST = 'file before prefix';
const ORDERS = [PREFIX_FIRST, FILE_FIRST] as const;

/** The parts of a form that stores `value` at `path`, in one of the two orders. */
function partsFor(order: (typeof ORDERS)[number], path: string, value: Buffer | string): FormPart[] {
  const slash = path.lastIndexOf('/') + 1;
  const prefix = { name: 'prefix', value: path.slice(0, slash) };
  const file = { name: 'file', filename: path.slice(slash), value };
  return order === PREFIX_FIRST ? [prefix, file] : [file, prefix];
}

const fetchFile = (port: number, path: string) => send(port, `/file/${escapePath(path)}`);

function parsesForms(): void {
  const service = served(memory);

  for (const order of ORDERS) {
    for (const [prefix, folder] of [
      ['', ''],
      ['/', ''],
      ['p/q', 'p/q/'],
      ['p/q/', 'p/q/'],
      ['/p/q', 'p/q/'],
      ['/p/q/', 'p/q/'],
      [' p /\\', ' p /\\/'],
    ] as const) {
      it(`${order}: the prefix ${JSON.stringify(prefix)} is the folder ${JSON.stringify(folder)}`, async () => {
        const [first, second] = partsFor(order, '/x.txt', `in ${folder}`);
        const parts = [first, second].map((part) => (part?.name === 'prefix' ? { ...part, value: prefix } : part));
        const response = await postForm(
          service.port,
          parts.filter((part) => part !== undefined),
        );
        assertSuccess(response, { message: 'File uploaded successfully', path: `${folder}x.txt` });
        assert.equal((await fetchFile(service.port, `${folder}x.txt`)).body.toString(), `in ${folder}`);
      });
    }
  }

  for (const [what, headers, value] of [
    ['with a file name, as Python sends it in files=', '; filename="prefix"'],
    ['with an empty file name', '; filename=""\r\nContent-Type: application/octet-stream'],
    ['with an extended file name', "; filename*=utf-8''prefix"],
    ['in its charset', '\r\nContent-Type: text/plain; charset="ISO-8859-1"', Buffer.from('odd ä', 'latin1')],
    ['with an identity encoding', '\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8BIT'],
  ] as const) {
    it(`a prefix ${what} is read, in either order`, async () => {
      const field = partWith(`Content-Disposition: form-data; name=prefix${headers}`, value ?? 'odd ä');
      const file = (name: string) => partWith(disposition(`filename="${what}${name}"`), 'x');
      for (const parts of [
        [field, file('1')],
        [file('2'), field],
      ]) {
        const name = parts[0] === field ? `${what}1` : `${what}2`;
        const response = await postBytes(service.port, closed(parts));
        assertSuccess(response, { message: 'File uploaded successfully', path: `odd ä/${name}` });
      }
    });
  }

  it('ignores parts with other names', async () => {
    const other = [
      { name: 'comment', value: 'not for us' },
      { name: 'upload', filename: 'other.bin', type: 'x/y', value: randomBytes(300_000) },
      { name: 'files', filename: '', value: '' },
    ];
    for (const [number, order] of ORDERS.entries()) {
      const [first, second] = partsFor(order, `among others/${number}.txt`, 'kept');
      assert.ok(first && second);
      const response = await postForm(service.port, [...other, first, ...other, second, ...other]);
      assertSuccess(response, { message: 'File uploaded successfully', path: `among others/${number}.txt` });
    }
    assert.deepEqual(await treeOf(service.port, 'among others/'), {
      'among others/0.txt': 'kept',
      'among others/1.txt': 'kept',
    });
  });

  it('finds the boundary across any chunks, and ignores similar bytes in the file', async () => {
    const value = Buffer.from(`\r\n-\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\n--\r\r\n--${BOUNDARY.slice(0, 9)}--\r`);
    for (const order of ORDERS) {
      const form = formOf(partsFor(order, 'cut/x.bin', value));
      const sizes = order === PREFIX_FIRST ? [1, BOUNDARY.length + 3] : [7];
      for (const size of sizes) {
        const sending = beginUpload(service.port);
        for (let start = 0; start < form.length; start += size) {
          await sending.write(form.subarray(start, start + size));
          await setImmediate();
        }
        assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: 'cut/x.bin' });
        assertSameBytes((await fetchFile(service.port, 'cut/x.bin')).body, value);
      }
    }
  });

  it('finds the boundary in large chunks that end with similar bytes', async () => {
    const almost = Buffer.from(`\r\n--${BOUNDARY.slice(0, -1)}`);
    // The byte after a similar sequence must not complete the boundary.
    const blocks = Array.from({ length: 40 }, () => Buffer.concat([Buffer.of(0), randomBytes(7999), almost]));
    const value = Buffer.concat([...blocks, Buffer.of(0), randomBytes(7999)]);
    for (const order of ORDERS) {
      const form = formOf(partsFor(order, 'cut/y.bin', value));
      const sending = beginUpload(service.port);
      let start = 0;
      for (let end = form.indexOf(value); end < form.length - 8000; end += 8000 + almost.length) {
        await sending.write(form.subarray(start, end));
        start = end;
      }
      await sending.write(form.subarray(start));
      assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: 'cut/y.bin' });
      assert.ok((await fetchFile(service.port, 'cut/y.bin')).body.equals(value));
    }
  });

  it('responds only after the end of the body', async () => {
    for (const order of ORDERS) {
      const form = formOf(partsFor(order, 'late/x.txt', order));
      const sending = beginUpload(service.port);
      await sending.write(form.subarray(0, -2));
      // Gives a premature response time to arrive.
      for (let number = 0; number < 10; number++) await fetchFile(service.port, 'late/x.txt');
      await sending.write(form.subarray(-2));
      assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path: 'late/x.txt' });
    }
  });

  it('accepts a preamble, an epilogue and a missing last line break (RFC 2046, section 5.1.1)', async () => {
    const form = formOf([{ name: 'file', filename: 'framed.txt', value: 'framed' }]).toString();
    for (const body of [`preamble\r\n${form}`, `${form}epilogue\r\n--${BOUNDARY}\r\n`, form.slice(0, -2)]) {
      const response = await postBytes(service.port, body);
      assertSuccess(response, { message: 'File uploaded successfully', path: 'framed.txt' });
      assert.equal((await fetchFile(service.port, 'framed.txt')).body.toString(), 'framed');
    }
  });

  it('rejects a form of many closing boundaries without a warning of Node.js', async (t) => {
    const warned = t.mock.fn();
    process.on('warning', warned);
    t.after(() => process.off('warning', warned));
    const response = await postBytes(service.port, `--${BOUNDARY}--\r\n`.repeat(20));
    assert.equal(response.status, 400);
    assert.equal(warned.mock.callCount(), 0);
  });

  for (const contentType of [
    'Multipart/Form-Data; Boundary=B',
    'multipart/form-data;boundary="B"',
    'multipart/form-data; charset=utf-8; boundary=B',
    'multipart/form-data; boundary=B; charset=utf-8',
    `multipart/form-data; boundary="B'()+_,-./:=? b"`,
    `multipart/form-data; boundary=${'b'.repeat(70)}`,
  ]) {
    it(`accepts the Content-Type ${contentType}`, async () => {
      const boundary = /boundary="?([^";]+)/i.exec(contentType)?.[1] ?? '';
      const form = formOf([{ name: 'file', filename: 'typed.txt', value: contentType }]).toString();
      const response = await postBytes(service.port, form.replaceAll(BOUNDARY, boundary), {
        'content-type': contentType,
      });
      assertSuccess(response, { message: 'File uploaded successfully', path: 'typed.txt' });
    });
  }
}

/** A form with one part that begins with these headers. */
const formWith = (headers: Buffer | string, value = 'x'): Buffer => closed([partWith(headers, value)]);

/** One part of a form, with these headers. */
function partWith(headers: Buffer | string, value: Buffer | string): Buffer {
  const chunks = [`--${BOUNDARY}\r\n`, headers, '\r\n\r\n', value, '\r\n'];
  return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)));
}

/** A form of these parts. */
const closed = (parts: readonly Buffer[]): Buffer => Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);

const disposition = (rest: string) => `Content-Disposition: form-data; name="file"; ${rest}`;

function parsesNames(): void {
  const service = served(memory);

  for (const [header, name] of [
    [disposition('filename="of%22browsers%22.txt"'), 'of"browsers".txt'],
    [disposition('filename="of\\"older\\" programs.txt"'), 'of"older" programs.txt'],
    [disposition('filename="back\\\\slash \\"q\\".txt"'), 'back\\slash "q".txt'],
    [disposition('filename="single\\slash\\\\es.txt"'), 'single\\slash\\\\es.txt'],
    [disposition('filename="at the end\\"'), 'at the end\\'],
    [disposition('filename="percent%2Fslash%00.txt"'), 'percent%2Fslash%00.txt'],
    [disposition('filename="semi; name=colon.txt"'), 'semi; name=colon.txt'],
    [disposition('filename=token.txt'), 'token.txt'],
    [disposition('filename="plain.txt"; filename*=UTF-8\'\'extended.txt'), 'plain.txt'],
    [disposition(`filename="=?utf-8?B?Lk5FVCDDpC50eHQ=?="; filename*=utf-8''.NET%20%C3%A4.txt`), '.NET ä.txt'],
    [disposition(`filename="=?utf-8?B?YWJvdmU=?="; filename*=utf-8''..%2F..%2Fcut.txt`), 'cut.txt'],
    [disposition('filename="=?utf-8?B?bGl0ZXJhbA==?="'), '=?utf-8?B?bGl0ZXJhbA==?='],
    [disposition('filename="padded.txt" ; other=1'), 'padded.txt'],
    ['content-disposition:form-data;filename="first.txt";name="file"', 'first.txt'],
    ['CONTENT-DISPOSITION: Form-Data; NAME=file; FileName="case.txt"', 'case.txt'],
    [`X-Other: 1\r\n${disposition('filename="behind.txt"')}\r\nContent-Length: 1`, 'behind.txt'],
    [disposition('filename="a/path/of a program.txt"'), 'of a program.txt'],
    [disposition('filename="/etc/passwd"'), 'passwd'],
    [disposition('filename="../../above.txt"'), 'above.txt'],
    [disposition('filename="empty//segment.txt"'), 'segment.txt'],
    [disposition('filename="C:\\Windows\\name.txt"'), 'C:\\Windows\\name.txt'],
  ] as const) {
    it(`${JSON.stringify(header)} names the file ${JSON.stringify(name)}`, async () => {
      const response = await postBytes(service.port, formWith(header, name));
      assertSuccess(response, { message: 'File uploaded successfully', path: name });
      assert.equal((await fetchFile(service.port, name)).body.toString(), name);
    });
  }
}

const FILE = { name: 'file', filename: 'kept.txt', value: 'new' } as const;
const PREFIX = { name: 'prefix', value: 'old' } as const;
const OTHER = { name: 'other', value: '' } as const;
const KEPT = { 'old/': null, 'old/kept.txt': 'old', 'kept.txt': 'old' } as const;

function refusesMistakes(): void {
  const service = served(memory);
  before(() => plant(service.port, { 'old/kept.txt': 'old', 'kept.txt': 'old' }));

  const assertRefused = async (response: HttpResponse, status: number, error: RegExp) => {
    assertFailure(response, status, error);
    assert.equal(response.headers.etag, undefined);
    assert.deepEqual(await treeOf(service.port), KEPT);
  };

  const forms: readonly [string, readonly FormPart[], RegExp][] = [
    ['no part', [], /file/],
    ['no part "file"', [PREFIX, OTHER], /no part "file"/],
    ['a file of another name', [{ ...FILE, name: 'files' }, PREFIX], /no part "file"/],
    ['a field "file" without a file name', [{ name: 'file', value: 'x' }, PREFIX], /no part "file".* file name/],
    ['two files and no prefix', [FILE, FILE], /two parts "file"/],
    ['two files behind a prefix', [PREFIX, FILE, FILE], /two parts "file"/],
    ['two files of different names', [PREFIX, FILE, { ...FILE, filename: 'other.txt' }], /two parts "file"/],
    ['two files around a prefix', [FILE, PREFIX, FILE], /two parts "file"/],
    ['two files, the second empty', [PREFIX, FILE, { ...FILE, filename: '', value: '' }], /two parts "file"/],
    ['a second file behind other parts', [PREFIX, FILE, OTHER, OTHER, FILE], /two parts "file"/],
    ['two prefixes, then a file', [PREFIX, PREFIX, FILE], /two parts "prefix"/],
    ['two prefixes around a file', [PREFIX, FILE, PREFIX], /two parts "prefix"/],
    ['two prefixes behind a file', [FILE, PREFIX, PREFIX], /two parts "prefix"/],
    ['an empty prefix and another', [{ ...PREFIX, value: '' }, FILE, PREFIX], /two parts "prefix"/],
    ['too many parts', [PREFIX, FILE, ...Array.from({ length: 200 }, () => OTHER)], /parts/],
    ['too many parts before the prefix', [FILE, ...Array.from({ length: 200 }, () => OTHER), PREFIX], /parts/],
    ['an endless prefix', [FILE, { ...PREFIX, value: 'x'.repeat(1_000_000) }], /prefix|long/],
  ];
  for (const [what, parts, error] of forms) {
    it(`a form with ${what} returns 400`, async () => assertRefused(await postForm(service.port, parts), 400, error));
  }

  const prefixes: readonly [string | Buffer, RegExp][] = [
    ['old//', /empty segment/],
    ['//', /empty segment/],
    ['//old', /empty segment/],
    ['a//b', /empty segment/],
    ['.', /segment "\."/],
    ['..', /segment "\.\."/],
    ['a/../old', /segment "\.\."/],
    ['/../old', /segment "\.\."/],
    ['a\0b', /control character/],
    ['a\nb', /control character/],
    ['\u007f', /control character/],
    ['é'.repeat(510), /1,?024/],
    [Buffer.from([0x6f, 0xff]), /UTF-8/],
    [Buffer.from([0xc0, 0xae, 0xc0, 0xae]), /UTF-8/],
  ];
  for (const [prefix, error] of prefixes) {
    it(`the prefix ${JSON.stringify(prefix.toString().slice(0, 20))} returns 400 with the rule`, async () => {
      const bad = { name: 'prefix', value: prefix };
      await assertRefused(await postForm(service.port, [bad, FILE]), 400, error);
      await assertRefused(await postForm(service.port, [FILE, bad]), 400, error);
    });
  }

  const unreadable: readonly [string, string, RegExp][] = [
    ['a prefix in base64', 'Content-Transfer-Encoding: base64', /"prefix" has Content-Transfer-Encoding "base64"/],
    ['a prefix in an unknown charset', 'Content-Type: text/plain; charset=utf-7', /unknown charset "utf-7"/],
    ['a prefix that is not in its charset', 'Content-Type: text/plain; charset=utf-16', /is not UTF-16/],
  ];
  for (const [what, header, error] of unreadable) {
    it(`${what} returns 400 with the reason`, async () => {
      const file = partWith(disposition('filename="kept.txt"'), 'new');
      const prefix = partWith(`Content-Disposition: form-data; name="prefix"\r\n${header}`, 'old');
      await assertRefused(await postBytes(service.port, closed([prefix, file])), 400, error);
      await assertRefused(await postBytes(service.port, closed([file, prefix])), 400, error);
    });
  }

  for (const [what, parts, error] of [
    [
      'two prefixes, of which the second has a file name',
      [PREFIX, FILE, { ...PREFIX, filename: 'x' }],
      /two parts "prefix"/,
    ],
    [
      'a prefix with a file name that is wrong',
      [{ ...PREFIX, filename: 'x', value: '../old' }, FILE],
      /segment "\.\."/,
    ],
  ] as const) {
    it(`a form with ${what} returns 400`, async () => assertRefused(await postForm(service.port, parts), 400, error));
  }

  for (const [parameters, error] of [
    ["filename*=utf-8''kept.txt", /file name .* can't be read from the parameter "filename\*".* "filename"/],
    ['filename*0="kept"; filename*1=".txt"', /from the parameter "filename\*0"/],
    ['filename="=?utf-8?B?w6Q=?="; filename*=koi8-r\'\'kept.txt', /from the parameter "filename\*"/],
  ] as const) {
    it(`a file with ${parameters} returns 400 with the parameter`, async () => {
      await assertRefused(await postBytes(service.port, formWith(disposition(parameters))), 400, error);
    });
  }

  it('returns 400 for a field that is named only by name*', async () => {
    const prefix = partWith("Content-Disposition: form-data; name*=utf-8''prefix", 'old');
    const file = partWith(disposition('filename="kept.txt"'), 'new');
    await assertRefused(await postBytes(service.port, closed([prefix, file])), 400, /UTF-8 names/);
  });

  const names: readonly [string | Buffer, RegExp][] = [
    ['', /file name.* empty/],
    ['folder/', /file name.* empty/],
    ['/', /file name.* empty/],
    ['.', /"\."/],
    ['..', /"\.\."/],
    ['old/..', /"\.\."/],
    ['line%0Aend', /control character/],
    ['carriage%0Dreturn', /control character/],
    ['tab\tulator', /control character/],
    ['delete\u007f', /control character/],
    ['x'.repeat(1025), /1,?024/],
    ['x'.repeat(20_000), /1,?024|4096|form/],
    [Buffer.from([0x6e, 0xef, 0x76, 0x65]), /UTF-8/],
  ];
  for (const [name, error] of names) {
    it(`the file name ${JSON.stringify(name.toString().slice(0, 20))} returns 400 with the reason`, async () => {
      const header = Buffer.concat([Buffer.from(disposition('filename="')), Buffer.from(name), Buffer.from('"')]);
      await assertRefused(await postBytes(service.port, formWith(header)), 400, error);
    });
  }

  for (const header of [
    'Content-Disposition: attachment; name="file"; filename="kept.txt"',
    'Content-Type: text/plain',
    'no header at all',
    `Content-Disposition: form-data; filename="kept.txt"`,
    `X: ${'x'.repeat(100_000)}\r\n${disposition('filename="kept.txt"')}`,
  ]) {
    it(`a part with the header ${JSON.stringify(header.slice(0, 60))} returns 400`, async () =>
      assertRefused(await postBytes(service.port, formWith(header)), 400, /form/));
  }

  for (const parts of [
    [PREFIX, { ...FILE, value: `cut\r\n--${BOUNDARY}off` }],
    [{ ...FILE, value: `cut\r\n--${BOUNDARY}off` }, PREFIX],
  ]) {
    it(`returns 400 for the boundary inside the file, in a form that begins with the ${parts[0]?.name}`, async () =>
      assertRefused(await postForm(service.port, parts), 400, /ends inside its headers/));
  }

  const form = formOf([FILE]).toString();
  const bodies: readonly [string, Record<string, string>, string][] = [
    ['an empty Content-Type', { 'content-type': '' }, form],
    ['JSON', { 'content-type': 'application/json' }, '{"file": "x"}'],
    ['a URL-encoded form', { 'content-type': 'application/x-www-form-urlencoded' }, 'file=x'],
    ['another multipart type', { 'content-type': `multipart/mixed; boundary=${BOUNDARY}` }, form],
    ['no boundary', { 'content-type': 'multipart/form-data' }, form],
    ['an empty boundary', { 'content-type': 'multipart/form-data; boundary=' }, form],
    ['an empty quoted boundary', { 'content-type': 'multipart/form-data; boundary=""' }, form],
    ['a boundary of over 70 characters', { 'content-type': `multipart/form-data; boundary=${'b'.repeat(300)}` }, form],
    ['another boundary than the body', { 'content-type': 'multipart/form-data; boundary=other' }, form],
    ['an empty body', {}, ''],
    ['a body that is no form', {}, 'just text'],
    ['line ends without carriage return', {}, form.replaceAll('\r\n', '\n')],
  ];
  for (const [what, headers, body] of bodies) {
    it(`${what} returns 400`, async () => assertRefused(await postBytes(service.port, body, headers), 400, /form/));
  }

  it('returns 400 without a Content-Type', async () => {
    const response = await send(service.port, '/upload', { method: 'POST', body: form });
    await assertRefused(response, 400, /form/);
  });
}

function survivesEarlyEnds(): void {
  const service = served(memory);
  before(() => plant(service.port, { 'old/kept.txt': 'old', 'kept.txt': 'old' }));

  for (const order of ORDERS) {
    const form = formOf([...partsFor(order, 'old/kept.txt', 'the new bytes'), OTHER]);

    it(`${order}: returns 400 for a truncated body`, async () => {
      const wrong: string[] = [];
      // A form is complete without its last line break.
      // One order has every end.
      const step = order === PREFIX_FIRST ? 1 : 5;
      for (let end = 0; end < form.length - '\r\n'.length; end += step) {
        const response = await postBytes(service.port, form.subarray(0, end));
        if (response.status === 400) assertFailure(response, 400, /form/);
        else wrong.push(`${response.status} when cut to ${end} bytes of ${form.length}`);
      }
      assert.deepEqual(wrong, []);
      assert.deepEqual(await treeOf(service.port), KEPT);
    });

    it(`${order}: a disconnecting client changes nothing`, async () => {
      const ended = () => service.log.filter(({ msg }) => msg === 'request').length;
      const places = ['prefix"', 'old', 'filename', 'the new', 'bytes', 'other', `${BOUNDARY}--`];
      for (const end of [0, ...places.map((text) => form.indexOf(text) + text.length - 1), form.length - 3]) {
        const endedBefore = ended();
        const sending = beginUpload(service.port, { 'content-length': String(form.length) });
        await sending.write(form.subarray(0, end));
        sending.disconnect();
        await until(`the log has the request that was aborted after ${end} bytes`, () => ended() > endedBefore);
      }
      assert.deepEqual(await treeOf(service.port), KEPT);
    });
  }
}

function validatesTimes(): void {
  const service = served(memory);
  const formAt = (name: string, ...fields: FormPart[]) => [{ name: 'file', filename: name, value: name }, ...fields];
  const field = (value: string) => ({ name: 'modified', value });
  const TIME = '2014-07-18T05:01:32.500Z';

  for (const value of ['', 'yesterday', '1405659692', '2014-07-18', '2014-07-18T05:01:32', '2014-02-30T05:01:32Z']) {
    it(`the field ${JSON.stringify(value)} returns 400 with the value, and stores nothing`, async () => {
      for (const parts of [formAt('wrong', field(value)), formAt('wrong', field(value)).toReversed()]) {
        assertFailure(await postForm(service.port, parts), 400, new RegExp(`"modified" is "${value}"`));
      }
      assertFailure(await fetchFile(service.port, 'wrong'), 404, /wrong/);
    });
  }

  for (const value of ['', 'now', '1e9', '0x10', '1, 2', '99999999999999', '-99999999999', '9'.repeat(400)]) {
    it(`X-OC-Mtime ${JSON.stringify(value.slice(0, 20))} returns 400 with the value`, async () => {
      const response = await postForm(service.port, formAt('wrong'), { 'x-oc-mtime': value });
      assertFailure(response, 400, new RegExp(`X-OC-Mtime is "${value.slice(0, 20)}`));
      assertFailure(await fetchFile(service.port, 'wrong'), 404, /wrong/);
    });
  }

  it('returns 400 for two "modified" fields', async () => {
    assertFailure(await postForm(service.port, formAt('twice', field(TIME), field(TIME))), 400, /two parts "modified"/);
  });
}

function honoursConditions(): void {
  const service = served(memory);

  const PAST = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const conditions: readonly [string, (etag: string) => Record<string, string>][] = [
    ['If-Match with another etag', () => ({ 'if-match': '"another"' })],
    ['If-Match with several other etags', () => ({ 'if-match': '"one", "two"' })],
    ['If-Match with a weak etag', (etag) => ({ 'if-match': `W/${etag}` })],
    ['If-None-Match with its etag', (etag) => ({ 'if-none-match': etag })],
    ['If-None-Match with its etag among others', (etag) => ({ 'if-none-match': `"another", ${etag}` })],
    ['If-None-Match with its etag as a weak one', (etag) => ({ 'if-none-match': `W/${etag}` })],
    ['If-None-Match: * beside If-Match with its etag', (etag) => ({ 'if-none-match': '*', 'if-match': etag })],
    ['If-Unmodified-Since long ago', () => ({ 'if-unmodified-since': PAST })],
  ];
  for (const [what, condition] of conditions) {
    it(`${what} does not replace the file`, async () => {
      for (const order of ORDERS) {
        const path = `conditions/${order}`;
        const { headers } = await upload(service.port, path, 'old');
        const response = await postForm(service.port, partsFor(order, path, 'new'), condition(String(headers.etag)));
        assertFailure(response, 412, /./);
        assert.equal((await fetchFile(service.port, path)).body.toString(), 'old');
      }
    });
  }
}

function limitTests(): void {
  const LIMIT = 1000;
  const service = served(memory, { maxUploadSize: LIMIT });

  for (const order of ORDERS) {
    // The client is still sending at the rejection, and must be able to read the response.
    for (const size of [8_000_000]) {
      it(`${order}: returns 413 with the limit for ${size} bytes, and keeps the old file`, async () => {
        const path = `over ${size}/${order}`;
        await upload(service.port, path, 'old');
        for (const refused of [path, `new ${size}/${order}`]) {
          const response = await postForm(service.port, partsFor(order, refused, Buffer.alloc(size, 'b')));
          assertFailure(response, 413, /1000 bytes/);
        }
        assert.equal((await fetchFile(service.port, path)).body.toString(), 'old');
        assertFailure(await send(service.port, `/new%20${size}/`), 404, /new/);
      });
    }
  }
}

describe('upload forms', () => {
  describe('parses forms', parsesForms);
  describe('parses file names', parsesNames);
  describe('rejects invalid forms without changes', refusesMistakes);
  describe('rejects truncated bodies without changes', survivesEarlyEnds);
  describe('rejects invalid modification times', validatesTimes);
  describe('evaluates preconditions', honoursConditions);
  describe('enforces MAX_UPLOAD_SIZE', limitTests);
});
