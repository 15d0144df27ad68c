import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import sharp from 'sharp';
import { memory } from '../../contract/backend.ts';
import { BOUNDARY, type Call, formOf, jsonOf, send, treeOf, upload } from '../client.ts';
import { served } from '../service.ts';

export type Headers = Readonly<Record<string, string>>;

/** What a test knows about the file `a/f.txt`. */
export interface State {
  readonly etag: string;
  /** The ID of its version; undefined in a store that keeps none. */
  readonly version: string | undefined;
}

/** A request to the file, or a folder; undefined if the store does not support it. */
export type Row = readonly [what: string, path: string, call: (state: State) => Call | undefined];

export const PAST = 'Thu, 01 Jan 1998 00:00:00 GMT';
export const FUTURE = 'Thu, 01 Jan 2099 00:00:00 GMT';

const json = (body: unknown, method = 'POST'): Call => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const form = (...fields: readonly ('prefix' | 'file')[]): Call => ({
  method: 'POST',
  headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  body: formOf(
    fields.map((name) => (name === 'file' ? { name, filename: 'f.txt', value: 'third' } : { name, value: 'a/' })),
  ),
});
const base64 = (text: string) => Buffer.from(text).toString('base64');
const tus = (headers: Headers, body?: string): Call => ({
  method: 'POST',
  headers: {
    'tus-resumable': '1.0.0',
    'upload-length': '5',
    'upload-metadata': `path ${base64('a/f.txt')}`,
    ...headers,
  },
  ...(body !== undefined && { body }),
});
const ietf = (method: string, complete: string): Call => ({
  method,
  headers: { 'upload-draft-interop-version': '8', 'upload-complete': complete, 'content-type': 'text/plain' },
  body: 'third',
});
const dav = (method: string, headers: Headers = {}, body?: string): Call => ({
  method,
  headers,
  ...(body !== undefined && { body }),
});

const PROPERTIES = '<propertyupdate xmlns="DAV:"><set><prop><x:y xmlns:x="urn:x">1</x:y></prop></set></propertyupdate>';
const LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

/** Requests that evaluate conditions for the file. */
export const ON_FILE: readonly Row[] = [
  ['PUT', '/file/a/f.txt', () => ({ method: 'PUT', body: 'third' })],
  ['upload, folder first', '/upload', () => form('prefix', 'file')],
  ['upload, folder last', '/upload', () => form('file', 'prefix')],
  ['DELETE', '/file/a/f.txt', () => ({ method: 'DELETE' })],
  ['POST delete', '/delete/a/f.txt', () => ({ method: 'POST' })],
  ['permanent delete', '/delete/a/f.txt?permanent=true', () => ({ method: 'DELETE' })],
  ['rename', '/rename/a/f.txt', () => json({ newName: 'g.txt' })],
  ['copy', '/copy', () => json({ source: 'a/f.txt', destination: 'a/g.txt', is_folder: false })],
  ['move', '/move', () => json({ source: 'a/f.txt', destination: 'a/g.txt', is_folder: false })],
  [
    'restore a version',
    '/-/versions/a/f.txt',
    ({ version }) => (version === undefined ? undefined : json({ version })),
  ],
  [
    'delete the versions',
    '/-/versions/a/f.txt',
    ({ version }) => (version === undefined ? undefined : { method: 'DELETE' }),
  ],
  ['begin by tus', '/-/uploads', () => tus({})],
  ['upload by tus', '/-/uploads', () => tus({ 'content-type': 'application/offset+octet-stream' }, 'third')],
  ['begin by IETF', '/-/uploads?path=a/f.txt', () => ietf('POST', '?0')],
  ['upload by IETF', '/-/uploads?path=a/f.txt', () => ietf('POST', '?1')],
  ['PUT by IETF', '/file/a/f.txt', () => ietf('PUT', '?1')],
  ['WebDAV PUT', '/-/dav/a/f.txt', () => dav('PUT', {}, 'third')],
  ['WebDAV DELETE', '/-/dav/a/f.txt', () => dav('DELETE')],
  ['WebDAV COPY', '/-/dav/a/f.txt', () => dav('COPY', { destination: '/-/dav/a/g.txt' })],
  ['WebDAV MOVE', '/-/dav/a/f.txt', () => dav('MOVE', { destination: '/-/dav/a/g.txt' })],
  ['WebDAV PROPPATCH', '/-/dav/a/f.txt', () => dav('PROPPATCH', {}, PROPERTIES)],
  ['WebDAV LOCK', '/-/dav/a/f.txt', () => dav('LOCK', {}, LOCK)],
];

/** Requests that evaluate conditions for a folder. */
export const ON_FOLDER: readonly Row[] = [
  ['delete', '/delete_folder/a', () => ({ method: 'DELETE' })],
  ['POST delete', '/delete_folder/a', () => ({ method: 'POST' })],
  ['rename', '/rename_folder/a', () => json({ newName: 'b' })],
  ['copy', '/copy', () => json({ source: 'a', destination: 'b', is_folder: true })],
  ['move', '/move', () => json({ source: 'a', destination: 'b', is_folder: true })],
  ['create', '/create_folder', () => json({ path: 'a' })],
  ['WebDAV DELETE', '/-/dav/a/', () => dav('DELETE')],
  ['WebDAV COPY', '/-/dav/a', () => dav('COPY', { destination: '/-/dav/b' })],
  ['WebDAV MOVE', '/-/dav/a', () => dav('MOVE', { destination: '/-/dav/b' })],
  ['WebDAV PROPPATCH', '/-/dav/a', () => dav('PROPPATCH', {}, PROPERTIES)],
  ['WebDAV LOCK', '/-/dav/a', () => dav('LOCK', {}, LOCK)],
];

/** Conditions that fail for a file, by its ETag. */
const FAILING: readonly ((etag: string) => Headers)[] = [
  () => ({ 'if-match': '"x"' }),
  (etag) => ({ 'if-match': `W/${etag}` }),
  (etag) => ({ 'if-match': etag.replaceAll('"', '') }),
  () => ({ 'if-match': '"x", "y"' }),
  () => ({ 'if-none-match': '*' }),
  (etag) => ({ 'if-none-match': etag }),
  (etag) => ({ 'if-none-match': `"x", W/${etag}` }),
  (etag) => ({ 'if-match': etag, 'if-none-match': '*' }),
];

/** Conditions that hold for a file, by its ETag. */
const HOLDING: readonly ((etag: string) => Headers)[] = [
  (etag) => ({ 'if-match': etag }),
  () => ({ 'if-match': '*' }),
  (etag) => ({ 'if-match': `"x", ${etag}`, 'if-unmodified-since': PAST }),
  () => ({ 'if-none-match': 'JoplinIgnore-12345' }),
  (etag) => ({ 'if-none-match': etag.replaceAll('"', '') }),
  () => ({ 'if-none-match': '"x", W/"y"', 'if-modified-since': FUTURE }),
  () => ({ 'if-unmodified-since': FUTURE }),
  () => ({ 'if-unmodified-since': 'yesterday' }),
];

/** Stores the file `a/f.txt` again, without locks. */
export async function resetFile(port: number): Promise<State> {
  for (const folder of ['', 'a']) {
    const { locks } = jsonOf(await send(port, `/-/locks?folder=${folder}`)) as { locks: { id: string }[] };
    for (const { id } of locks) await send(port, `/-/locks/${id}`, { method: 'DELETE' });
  }
  for (const folder of ['a', 'b']) {
    await send(port, `/delete_folder/${folder}?permanent=true`, { method: 'DELETE' });
  }
  await upload(port, 'a/f.txt', 'first');
  const { headers } = await upload(port, 'a/f.txt', 'second');
  const found = await send(port, '/-/versions/a/f.txt');
  const [version] = found.status === 200 ? (jsonOf(found) as { versions: { id: string }[] }).versions : [];
  return { etag: String(headers.etag), version: version?.id };
}

/** Stores an image in the folder `a/`, and returns requests for the contents of the folder. */
export async function prepareReads(
  port: number,
  { version }: State,
): Promise<readonly (readonly [path: string, call: Call])[]> {
  const image = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  await upload(port, 'a/p.png', image);
  const created = await send(port, '/-/links', json({ path: 'a/', permissions: ['read'] }));
  const link = new URL(String(jsonOf(created)['url'])).pathname;
  return [
    ['/file/a/f.txt', {}],
    ['/file/a/f.txt', { method: 'HEAD' }],
    ['/-/dav/a/f.txt', {}],
    ['/-/dav/a/f.txt', { method: 'HEAD' }],
    ...(version === undefined ? [] : ([[`/file/a/f.txt?version=${version}`, {}]] as const)),
    ['/thumb/a/p.png', {}],
    ['/-/preview/a/p.png?width=320', {}],
    ['/-/media/a/p.png', {}],
    ['/-/zip/a', {}],
    ['/-/zip/a', { method: 'HEAD' }],
    ['/-/zip', json({ paths: ['a/'] })],
    [`${link}file/f.txt`, {}],
    [`${link}thumb/p.png`, {}],
    [`${link}-/zip/`, {}],
  ];
}

/** Tests that every route with the path of a file or folder evaluates the conditions of RFC 9110. */
export function conditionsSuite(): void {
  describe('Conditions of requests', () => {
    const service = served(memory, { hasJobs: true });

    const reset = () => resetFile(service.port);

    const request = async ([what, path, callOf]: Row, state: State, conditions: Headers) => {
      const call = callOf(state);
      if (!call) return undefined;
      const { status, body } = await send(service.port, path, { ...call, headers: { ...call.headers, ...conditions } });
      return { status, message: `${what} with ${JSON.stringify(conditions)}: ${status} ${body.toString()}` };
    };

    const requireFailures = async (rows: readonly Row[], conditionsOf: (etag: string) => readonly Headers[]) => {
      const state = await reset();
      const tree = await treeOf(service.port);
      for (const row of rows) {
        for (const conditions of conditionsOf(state.etag)) {
          const response = await request(row, state, conditions);
          if (response) assert.equal(response.status, 412, response.message);
        }
      }
      assert.deepEqual(await treeOf(service.port), tree);
    };

    const requireSuccesses = async (rows: readonly Row[], conditions: readonly ((etag: string) => Headers)[]) => {
      for (const [index, row] of rows.entries()) {
        // The requests share the evaluation, so that each tries another condition.
        const conditionOf = conditions[index % conditions.length] ?? assert.fail();
        const state = await reset();
        const response = await request(row, state, conditionOf(state.etag));
        assert.ok(response, 'The store keeps versions.');
        assert.ok(response.status < 300, response.message);
      }
    };

    it('refuses every change of a file whose condition fails', async () => {
      await requireFailures(ON_FILE, (etag) => [
        ...FAILING.map((conditionOf) => conditionOf(etag)),
        { 'if-unmodified-since': PAST },
      ]);
    });

    it('accepts every change of a file whose condition holds, and ignores what is not an ETag', async () => {
      await requireSuccesses(ON_FILE, HOLDING);
    });

    it('evaluates the conditions of every read, in the order of RFC 9110', async () => {
      const reads = await prepareReads(service.port, await reset());
      for (const [path, call] of reads) {
        const get = (headers: Headers) =>
          send(service.port, path, { ...call, headers: { ...call.headers, ...headers } });
        const present = await get({});
        assert.equal(present.status, 200, `${path}: ${present.body.toString()}`);
        const { etag = '', 'last-modified': modified } = present.headers;
        const unchanged = call.method === 'POST' ? 412 : 304;
        const hasRanges = present.headers['accept-ranges'] === 'bytes' && call.method !== 'HEAD';
        const part = hasRanges ? 206 : 200;
        const date = hasRanges ? modified : undefined;
        const range = { range: 'bytes=0-1' };
        const cases: readonly (readonly [Headers, number])[] = [
          [{ 'if-none-match': etag }, unchanged],
          [{ 'if-none-match': `"x", W/${etag}` }, unchanged],
          [{ 'if-none-match': '*' }, unchanged],
          [{ 'if-none-match': `${etag.replaceAll('"', '')}, "x"` }, 200],
          [{ 'if-none-match': 'JoplinIgnore-1' }, 200],
          [{ 'if-match': etag }, 200],
          [{ 'if-match': `"x", ${etag}`, 'if-unmodified-since': PAST }, 200],
          [{ 'if-match': '*' }, 200],
          [{ 'if-match': `W/${etag}` }, 412],
          [{ 'if-match': '"x"', 'if-none-match': etag }, 412],
          [{ 'if-match': etag.replaceAll('"', '') }, 412],
          [{ 'if-match': etag, 'if-none-match': etag }, unchanged],
          // Only files have a modification time.
          [{ 'if-modified-since': FUTURE }, modified === undefined ? 200 : 304],
          [{ 'if-modified-since': FUTURE, 'if-none-match': '"x"' }, 200],
          [{ 'if-modified-since': 'yesterday' }, 200],
          [{ 'if-unmodified-since': PAST }, modified === undefined ? 200 : 412],
          [{ 'if-unmodified-since': FUTURE }, 200],
          [{ ...range, 'if-range': etag }, part],
          [{ ...range, 'if-range': `W/${etag}` }, 200],
          [{ ...range, 'if-range': '"x"' }, 200],
          [{ ...range, 'if-range': etag.replaceAll('"', '') }, 200],
          [{ ...range, 'if-range': PAST }, 200],
          [{ ...range, 'if-match': '"x"' }, 412],
          [{ ...range, 'if-none-match': etag }, unchanged],
          ...(date === undefined ? [] : ([[{ ...range, 'if-modified-since': date }, 304]] as const)),
        ];
        for (const [headers, status] of cases) {
          const response = await get(headers);
          const what = `${call.method ?? 'GET'} ${path} with ${JSON.stringify(headers)}: ${response.body.toString()}`;
          assert.equal(response.status, status, what);
          if (status === 304) assert.equal(response.headers.etag, etag, what);
        }
      }
    });

    it('ignores the conditions of a PROPFIND except If, because it selects no representation', async () => {
      const { etag } = await reset();
      for (const [conditions, status] of [
        [{ 'if-none-match': etag }, 207],
        [{ 'if-match': '"x"' }, 207],
        [{ if: `([${etag}])` }, 207],
        [{ if: '(["x"])' }, 412],
      ] as const) {
        const response = await send(service.port, '/-/dav/a/f.txt', dav('PROPFIND', { depth: '0', ...conditions }));
        assert.equal(response.status, status, JSON.stringify(conditions));
      }
    });

    it('evaluates the conditions of refreshing and ending a lock', async () => {
      const { etag } = await reset();
      const path = '/-/dav/a/f.txt';
      const token = String((await send(service.port, path, dav('LOCK', {}, LOCK))).headers['lock-token']);
      for (const [conditions, refreshed, ended] of [
        [{ 'if-none-match': etag }, 412, 412],
        [{ 'if-match': '"x"' }, 412, 412],
        [{ 'if-none-match': 'JoplinIgnore-1', 'if-match': etag }, 200, 204],
      ] as const) {
        const refresh = await send(service.port, path, dav('LOCK', { if: `(${token})`, ...conditions }));
        const end = await send(service.port, path, dav('UNLOCK', { 'lock-token': token, ...conditions }));
        assert.deepEqual([refresh.status, end.status], [refreshed, ended], JSON.stringify(conditions));
      }
    });

    it('knows no ETag of folders', async () => {
      await requireFailures(ON_FOLDER, (etag): Headers[] => [
        { 'if-match': etag },
        { 'if-match': '"x", W/"y"' },
        { 'if-none-match': '*' },
      ]);
      await requireSuccesses(ON_FOLDER, [
        () => ({ 'if-match': '*' }),
        (etag) => ({ 'if-none-match': `${etag}, "x"` }),
        () => ({ 'if-none-match': 'JoplinIgnore-1' }),
        () => ({ 'if-unmodified-since': PAST }),
      ]);
    });
  });
}
