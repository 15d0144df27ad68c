import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { until } from '../../../testing/until.ts';
import { memory } from '../../contract/backend.ts';
import { NAMES } from '../../contract/names.ts';
import {
  assertFailure,
  assertSuccess,
  BOUNDARY,
  beginUpload,
  escapePath,
  type FormPart,
  formOf,
  listed,
  plant,
  postBytes,
  postForm,
  send,
  treeOf,
  upload,
} from '../client.ts';
import { served } from '../service.ts';

/** `POST /upload`. */
export function uploadSuite(): void {
  describe('Upload', () => {
    describe('stores a file', takesFiles);
    describe('stores every name', readsNames);
    describe('refuses conflicts', refusesConflicts);
    describe('rejects truncated bodies without changes', survivesEarlyEnds);
    describe('stores modification times', keepsTimes);
    describe('evaluates preconditions', honoursConditions);
    describe('enforces MAX_UPLOAD_SIZE', limitTests);
    describe('replaces atomically', replacementTests);
  });
}

const PREFIX_FIRST = 'prefix before file';
const FILE_FIRST = 'file before prefix';
export const ORDERS = [PREFIX_FIRST, FILE_FIRST] as const;

/** Returns the parts of a form that stores `value` at `path`, in one of the two orders. */
export function partsFor(order: (typeof ORDERS)[number], path: string, value: Buffer | string): FormPart[] {
  const slash = path.lastIndexOf('/') + 1;
  const prefix = { name: 'prefix', value: path.slice(0, slash) };
  const file = { name: 'file', filename: path.slice(slash), value };
  return order === PREFIX_FIRST ? [prefix, file] : [file, prefix];
}

const fetchFile = (port: number, path: string) => send(port, `/file/${escapePath(path)}`);

function takesFiles(): void {
  const service = served(memory);

  for (const order of ORDERS) {
    it(`${order}: returns message and path, and stores every byte`, async () => {
      for (const value of [randomBytes(1_000_000), Buffer.from(`\r\n--${BOUNDARY}`.slice(0, -1)), Buffer.alloc(0)]) {
        const path = `${order}/${value.length}/a.bin`;
        const response = await postForm(service.port, partsFor(order, path, value));
        assertSuccess(response, { message: 'File uploaded successfully', path });
        assert.ok((await fetchFile(service.port, path)).body.equals(value));
        assert.equal((await listed(service.port, path)).size, value.length);
      }
    });

    it(`${order}: returns the ETag of the listing and of the download`, async () => {
      const path = `etag of ${order}.txt`;
      const { headers } = await postForm(service.port, partsFor(order, path, order));
      assert.match(String(headers.etag), /^"[^"]+"$/);
      assert.equal((await listed(service.port, path)).etag, headers.etag);
      assert.equal((await fetchFile(service.port, path)).headers.etag, headers.etag);
    });

    it(`${order}: replaces an existing file`, async () => {
      const path = `replaced/${order}.txt`;
      const first = await postForm(service.port, partsFor(order, path, 'a long first text'));
      const second = await postForm(service.port, partsFor(order, path, 'second'));
      assertSuccess(second, { message: 'File uploaded successfully', path });
      assert.notEqual(second.headers.etag, first.headers.etag);
      assert.deepEqual(await treeOf(service.port, 'replaced/'), {
        ...(order === FILE_FIRST && ORDERS.length > 1 && { [`replaced/${PREFIX_FIRST}.txt`]: 'second' }),
        [path]: 'second',
      });
    });
  }

  it('stores in the root without a prefix', async () => {
    const response = await postForm(service.port, [{ name: 'file', filename: 'rooted.txt', value: 'x' }]);
    assertSuccess(response, { message: 'File uploaded successfully', path: 'rooted.txt' });
  });

  const types = [
    ['by name.png', undefined, 'image/png'],
    ['BY NAME.JPG', undefined, 'image/jpeg'],
    ['unknown.holdall', undefined, 'application/octet-stream'],
    ['no extension', undefined, 'application/octet-stream'],
    ['said nothing.svg', 'application/octet-stream', 'image/svg+xml'],
    ['said nonsense.png', 'nonsense', 'image/png'],
    ['said worse.png', 'image/png é', 'image/png'],
  ] as const;
  for (const [filename, sent, type] of types) {
    it(`a part ${sent ? `of type ${sent}` : 'without a type'} named ${filename} is kept as ${type}`, async () => {
      await postForm(service.port, [{ name: 'file', filename, type: sent, value: 'x' }]);
      assert.equal((await listed(service.port, filename)).contentType, type);
      assert.equal((await fetchFile(service.port, filename)).headers['content-type'], type);
    });
  }

  for (const type of ['application/x-own', 'text/plain; charset=iso-8859-1', 'multipart/x; p="a b;c"']) {
    it(`a part of type ${type} keeps its type with any name`, async () => {
      for (const order of ORDERS) {
        const parts = partsFor(order, 'types/own.png', type).map((part) =>
          part.name === 'file' ? { ...part, type } : part,
        );
        await postForm(service.port, parts);
        assert.equal((await listed(service.port, 'types/own.png')).contentType, type);
        assert.equal((await fetchFile(service.port, 'types/own.png')).headers['content-type'], type);
      }
    });
  }
}

function readsNames(): void {
  const service = served(memory);

  it('stores every name of files and folders unchanged, in either order', async () => {
    const paths = NAMES.map((name) => `names/${name}/${name}`);
    const store = async (path: string, number: number) => {
      const response = await postForm(service.port, partsFor(ORDERS[number % 2] ?? PREFIX_FIRST, path, path));
      assertSuccess(response, { message: 'File uploaded successfully', path });
    };
    await Promise.all(paths.map(store));
    const expected = [...paths.map((path) => [path, path]), ...NAMES.map((name) => [`names/${name}/`, null])];
    assert.deepEqual(await treeOf(service.port, 'names/'), Object.fromEntries(expected));
  });
}

function keepsTimes(): void {
  const service = served(memory);
  const formAt = (name: string, ...fields: FormPart[]) => [{ name: 'file', filename: name, value: name }, ...fields];
  const field = (value: string) => ({ name: 'modified', value });
  const TIME = '2014-07-18T05:01:32.500Z';
  const prefix = { name: 'prefix', value: 'times' };

  for (const [what, parts, headers, time] of [
    ['a field behind the file', formAt('a', field(TIME)), {}, TIME],
    ['a field before the file', formAt('b', field(TIME)).toReversed(), {}, TIME],
    ['a field behind file and prefix', [prefix, ...formAt('c', field('2014-07-18T07:01:32.5+02:00'))], {}, TIME],
    ['a field with a file name', formAt('d', { ...field(TIME), filename: 'modified' }), {}, TIME],
    ['X-OC-Mtime', formAt('e'), { 'x-oc-mtime': '1405659692' }, '2014-07-18T05:01:32.000Z'],
    ['X-OC-Mtime with a fraction', [prefix, ...formAt('f')], { 'x-oc-mtime': '1405659692.5' }, TIME],
    ['X-OC-Mtime before 1970', formAt('g'), { 'X-OC-Mtime': '-14182939.5' }, '1969-07-20T20:17:40.500Z'],
    ['a field beside X-OC-Mtime', formAt('h', field(TIME)), { 'x-oc-mtime': '1405659692' }, TIME],
  ] as const) {
    it(`stores the time of ${what}, and confirms it`, async () => {
      const response = await postForm(service.port, parts, headers);
      const { path } = JSON.parse(response.body.toString());
      assertSuccess(response, { message: 'File uploaded successfully', path });
      assert.equal(response.headers['x-oc-mtime'], 'accepted');
      assert.equal((await listed(service.port, path)).modified, time);
      assert.equal((await fetchFile(service.port, path)).headers['last-modified'], new Date(time).toUTCString());
    });
  }

  it('returns no X-OC-Mtime without a time', async () => {
    assert.equal((await postForm(service.port, formAt('now'))).headers['x-oc-mtime'], undefined);
  });

  it('stores a time in the future, and returns a Last-Modified not later than Date', async () => {
    const future = '2099-01-01T00:00:00.000Z';
    const { headers: stored } = await postForm(service.port, formAt('future', field(future)));
    assert.equal(stored['x-oc-mtime'], 'accepted');
    const { headers } = await fetchFile(service.port, 'future');
    assert.ok(Date.parse(String(headers['last-modified'])) <= Date.parse(String(headers.date)));
  });

  it('returns the whole file after a replacement by a version with an earlier time', async () => {
    const [newer, older] = ['2015-01-01T00:00:00Z', '2014-01-01T00:00:00Z'];
    const date = new Date(newer).toUTCString();
    for (const time of [newer, older]) await postForm(service.port, formAt('replaced', field(time)));
    const requests: Record<string, string>[] = [
      { 'if-modified-since': date },
      { range: 'bytes=0-0', 'if-range': date },
    ];
    for (const headers of requests) {
      assert.equal((await send(service.port, '/file/replaced', { headers })).status, 200);
    }
  });
}

const OTHER = { name: 'other', value: '' } as const;
const EXISTING_FILES = { 'old/kept.txt': 'old', 'kept.txt': 'old' } as const;
const KEPT = { 'old/': null, 'old/kept.txt': 'old', 'kept.txt': 'old' } as const;

function refusesConflicts(): void {
  const service = served(memory);
  before(() => plant(service.port, EXISTING_FILES));

  it('returns 409 for a path through a file, or the name of a folder', async () => {
    for (const order of ORDERS) {
      for (const path of ['kept.txt/x', 'kept.txt/a/b/x', 'old/kept.txt/x', 'old']) {
        assertFailure(await postForm(service.port, partsFor(order, path, 'new')), 409, /kept\.txt|old/);
        assert.deepEqual(await treeOf(service.port), KEPT);
      }
    }
  });
}

function survivesEarlyEnds(): void {
  const service = served(memory);
  before(() => plant(service.port, { 'old/kept.txt': 'old', 'kept.txt': 'old' }));

  for (const order of ORDERS) {
    const form = formOf([...partsFor(order, 'old/kept.txt', 'the new bytes'), OTHER]);

    it(`${order}: returns 400 for a truncated body`, async () => {
      const wrong: string[] = [];
      const ends = ['filename', 'the new', 'bytes', 'other'].map((text) => form.indexOf(text));
      for (const end of [0, ...ends, form.length - 3]) {
        const response = await postBytes(service.port, form.subarray(0, end));
        if (response.status === 400) assertFailure(response, 400, /form/);
        else wrong.push(`${response.status} when cut to ${end} bytes of ${form.length}`);
      }
      assert.deepEqual(wrong, []);
      assert.deepEqual(await treeOf(service.port), KEPT);
    });

    it(`${order}: a disconnecting client changes nothing`, async () => {
      const ended = () => service.log.filter(({ msg }) => msg === 'request').length;
      const places = ['filename', 'the new', 'other'];
      for (const end of [...places.map((text) => form.indexOf(text) + text.length - 1), form.length - 3]) {
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

function honoursConditions(): void {
  const service = served(memory);
  const absent = { 'if-none-match': '*' };

  for (const order of ORDERS) {
    it(`${order}: If-None-Match: * stores a new file, and returns 412 when it exists`, async () => {
      const path = `absent/${order}`;
      const first = await postForm(service.port, partsFor(order, path, 'first'), absent);
      assertSuccess(first, { message: 'File uploaded successfully', path });
      const second = await postForm(service.port, partsFor(order, path, 'second'), absent);
      assertFailure(second, 412, new RegExp(order));
      assert.equal((await fetchFile(service.port, path)).body.toString(), 'first');
      assert.equal((await listed(service.port, path)).etag, first.headers.etag);
    });

    it(`${order}: If-None-Match: * lets one of many concurrent uploads succeed`, async () => {
      const path = `raced/${order}`;
      const sent = Array.from({ length: 8 }, (_, number) =>
        postForm(service.port, partsFor(order, path, String(number)), absent),
      );
      const responses = await Promise.all(sent);
      const statuses = responses.map(({ status }) => status);
      const winner = statuses.indexOf(200);
      assert.deepEqual(statuses.toSpliced(winner, 1), Array(7).fill(412));
      assert.equal((await fetchFile(service.port, path)).body.toString(), String(winner));
    });

    it(`${order}: If-Match replaces the matching version`, async () => {
      const path = `version/${order}`;
      const { headers } = await upload(service.port, path, 'first');
      const parts = partsFor(order, path, 'second');
      const response = await postForm(service.port, parts, { 'if-match': String(headers.etag) });
      assertSuccess(response, { message: 'File uploaded successfully', path });
      assert.equal((await fetchFile(service.port, path)).body.toString(), 'second');
    });
  }

  const PAST = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const conditions: readonly [string, (etag: string) => Record<string, string>][] = [
    ['If-Match with another etag', () => ({ 'if-match': '"another"' })],
    ['If-Match with a weak etag', (etag) => ({ 'if-match': `W/${etag}` })],
    ['If-None-Match with its etag', (etag) => ({ 'if-none-match': etag })],
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

  it('If-Match does not create a file', async () => {
    for (const order of ORDERS) {
      for (const condition of [
        { 'if-match': '*' },
        { 'if-match': '"another"' },
        { ...absent, 'if-match': '"another"' },
      ]) {
        const response = await postForm(service.port, partsFor(order, 'nothing/x', 'new'), condition);
        assertFailure(response, 412, /./);
        assertFailure(await fetchFile(service.port, 'nothing/x'), 404, /nothing\/x/);
      }
    }
  });
}

function limitTests(): void {
  const LIMIT = 1000;
  const service = served(memory, { maxUploadSize: LIMIT });

  for (const order of ORDERS) {
    it(`${order}: stores a file of exactly the limit, whatever other parts the form has`, async () => {
      const path = `limit/${order}`;
      const parts = [{ ...OTHER, value: 'x'.repeat(5 * LIMIT) }, ...partsFor(order, path, Buffer.alloc(LIMIT, 'a'))];
      assertSuccess(await postForm(service.port, parts), { message: 'File uploaded successfully', path });
    });

    for (const size of [LIMIT + 1]) {
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

function replacementTests(): void {
  const service = served(memory);

  for (const order of ORDERS) {
    it(`${order}: keeps the old file until the last byte arrives`, async () => {
      const path = `slow/${order}/a.txt`;
      await upload(service.port, path, 'old');
      const form = formOf(partsFor(order, path, Buffer.alloc(400_000, 'new')));
      const ends = [100, 100_000, form.length - 3];
      const sending = beginUpload(service.port);
      for (const [number, end] of ends.entries()) {
        await sending.write(form.subarray(ends[number - 1] ?? 0, end));
        assert.deepEqual(await treeOf(service.port, `slow/${order}/`), { [path]: 'old' });
      }
      await sending.write(form.subarray(form.length - 3));
      assertSuccess(await sending.finish(), { message: 'File uploaded successfully', path });
      assert.equal((await fetchFile(service.port, path)).body.length, 400_000);
    });
  }

  it('stores one whole version of concurrent uploads, and readers see only whole versions', async () => {
    const values = Array.from({ length: 10 }, (_, number) => Buffer.alloc(100_000 + number, String(number)));
    await upload(service.port, 'raced.bin', values[0] ?? '');
    const uploads = values.map((value, number) =>
      postForm(service.port, partsFor(ORDERS[number % 2] ?? PREFIX_FIRST, 'raced.bin', value)),
    );
    const reads = values.map(() => fetchFile(service.port, 'raced.bin'));
    const whole = (body: Buffer) => values.findIndex((value) => value.equals(body));
    for (const { body } of await Promise.all(reads)) assert.notEqual(whole(body), -1);
    const responses = await Promise.all(uploads);
    assert.deepEqual(
      responses.map(({ status }) => status),
      values.map(() => 200),
    );
    const last = await fetchFile(service.port, 'raced.bin');
    assert.equal(last.headers.etag, responses[whole(last.body)]?.headers.etag);
    assert.equal((await listed(service.port, 'raced.bin')).size, last.body.length);
  });
}
