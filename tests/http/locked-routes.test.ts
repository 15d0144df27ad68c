import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memory } from '../contract/backend.ts';
import { BOUNDARY, type Call, formOf, type HttpResponse, jsonOf, send, treeOf, upload } from './client.ts';
import { served } from './service.ts';

/** What exists in the folder of a table. */
interface State {
  /** The folder, such as `r7/`. It has `a/f.txt`, `a/g.txt`, the same files in `b/` and `c/`, and `e/`. */
  readonly root: string;
  /** The IDs of the changes that made them. */
  readonly changes: Readonly<Record<string, string>>;
  /** The ID of a version of `a/f.txt`. */
  readonly version: string;
  /** The IDs of `a/t.txt` and `a/u/` in the trash. */
  readonly trashedFile: string;
  readonly trashedFolder: string;
  /** The URL of an upload of `a/f.txt` that has begun. */
  readonly begun: string;
  /** The URL of a share link of `a/`. */
  readonly link: string;
}

/** A request that changes files. `route` is its operation in the OpenAPI document, or its WebDAV method. */
type Row = readonly [route: string, what: string, request: (state: State) => readonly [path: string, call: Call]];

/** A lock of a path in the folder of the table; the empty path is that folder. The default depth is `infinity`. */
type LockOf = readonly [path: string, depth?: '0'];

const json = (body: unknown): Call => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const asJob = (call: Call): Call => ({ ...call, headers: { ...call.headers, prefer: 'respond-async, wait=10' } });
const form = (prefix: string, filename: string, isPrefixLast = false): Call => {
  const parts = [
    { name: 'prefix', value: prefix },
    { name: 'file', filename, value: 'new' },
  ];
  return {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: formOf(isPrefixLast ? parts.toReversed() : parts),
  };
};
const TUS = { 'tus-resumable': '1.0.0' };
const tus = (path: string, body?: string): Call => ({
  method: 'POST',
  headers: {
    ...TUS,
    'upload-length': '3',
    'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
    ...(body !== undefined && { 'content-type': 'application/offset+octet-stream' }),
  },
  ...(body !== undefined && { body }),
});
const patch: Call = {
  method: 'PATCH',
  headers: { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' },
  body: 'new',
};
const put: Call = { method: 'PUT', body: 'new' };
const transfer = (root: string, source: string, destination: string, overwrite = true): Call =>
  json({ source: root + source, destination: root + destination, is_folder: source.endsWith('/'), overwrite });
const undo = (change: string | undefined) => ['/-/undo', json({ change: change ?? assert.fail() })] as const;
const dav = (method: string, root: string, path: string, to?: string, headers: Call['headers'] = {}) =>
  [
    `/-/dav/${root}${path}`,
    { method, headers: { ...headers, ...(to !== undefined && { destination: `/-/dav/${root}${to}` }) } },
  ] as const;

const LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const PROPERTIES = '<propertyupdate xmlns="DAV:"><set><prop><x:y xmlns:x="urn:x">1</x:y></prop></set></propertyupdate>';

/** Changes of the content, versions or properties of `a/f.txt`. */
const CONTENT: readonly Row[] = [
  ['put /file/{path}', '', ({ root }) => [`/file/${root}a/f.txt`, put]],
  ['post /upload', 'prefix first', ({ root }) => ['/upload', form(`${root}a/`, 'f.txt')]],
  ['post /upload', 'prefix last', ({ root }) => ['/upload', form(`${root}a/`, 'f.txt', true)]],
  ['post /copy', 'onto it', ({ root }) => ['/copy', transfer(root, 'b/f.txt', 'a/f.txt')]],
  ['post /-/versions/{path}', '', ({ root, version }) => [`/-/versions/${root}a/f.txt`, json({ version })]],
  ['delete /-/versions/{path}', '', ({ root }) => [`/-/versions/${root}a/f.txt`, { method: 'DELETE' }]],
  ['post /-/uploads', 'with content', ({ root }) => ['/-/uploads', tus(`${root}a/f.txt`, 'new')]],
  ['post /-/uploads', 'without content', ({ root }) => ['/-/uploads', tus(`${root}a/f.txt`)]],
  ['patch /-/uploads/{id}', '', ({ begun }) => [begun, patch]],
  ['post /-/undo', 'of a replacement', ({ changes }) => undo(changes['a/f.txt'])],
  ['WebDAV', 'PUT', ({ root }) => [`/-/dav/${root}a/f.txt`, put]],
  ['WebDAV', 'COPY onto it', ({ root }) => dav('COPY', root, 'b/f.txt', 'a/f.txt')],
  ['WebDAV', 'PROPPATCH', ({ root }) => [`/-/dav/${root}a/f.txt`, { method: 'PROPPATCH', body: PROPERTIES }]],
];

/** Changes that remove `a/f.txt`, or add it under another name. */
const REMOVAL: readonly Row[] = [
  ['delete /file/{path}', '', ({ root }) => [`/file/${root}a/f.txt`, { method: 'DELETE' }]],
  ['delete /delete/{path}', '', ({ root }) => [`/delete/${root}a/f.txt`, { method: 'DELETE' }]],
  ['post /delete/{path}', 'permanent', ({ root }) => [`/delete/${root}a/f.txt?permanent=true`, { method: 'POST' }]],
  ['post /rename/{path}', 'away', ({ root }) => [`/rename/${root}a/f.txt`, json({ newName: 'x' })]],
  [
    'post /rename/{path}',
    'onto it',
    ({ root }) => [`/rename/${root}a/g.txt`, json({ newName: 'f.txt', overwrite: true })],
  ],
  ['post /move', 'away', ({ root }) => ['/move', transfer(root, 'a/f.txt', 'b/x')]],
  ['post /move', 'onto it', ({ root }) => ['/move', transfer(root, 'b/f.txt', 'a/f.txt')]],
  ['WebDAV', 'DELETE', ({ root }) => dav('DELETE', root, 'a/f.txt')],
  ['WebDAV', 'MOVE away', ({ root }) => dav('MOVE', root, 'a/f.txt', 'b/x')],
  ['WebDAV', 'MOVE onto it', ({ root }) => dav('MOVE', root, 'b/f.txt', 'a/f.txt')],
];

/** Changes that add a name to `a/`, or remove another one than `f.txt`. */
const MEMBERSHIP: readonly Row[] = [
  ['put /file/{path}', 'new file', ({ root }) => [`/file/${root}a/x.txt`, put]],
  ['put /file/{path}', 'new folder', ({ root }) => [`/file/${root}a/x/y/z.txt`, put]],
  ['post /upload', 'new file', ({ root }) => ['/upload', form(`${root}a/`, 'x.txt')]],
  ['post /create_folder', '', ({ root }) => ['/create_folder', json({ path: `${root}a/x/` })]],
  ['post /copy', 'new file', ({ root }) => ['/copy', transfer(root, 'b/f.txt', 'a/x.txt')]],
  ['post /copy', 'new folder', ({ root }) => ['/copy', transfer(root, 'b/', 'a/x/')]],
  ['post /move', 'new file', ({ root }) => ['/move', transfer(root, 'b/f.txt', 'a/x.txt')]],
  ['post /move', 'new folder', ({ root }) => ['/move', transfer(root, 'b/', 'a/x/')]],
  ['post /-/trash/{id}/restore', 'file', ({ trashedFile }) => [`/-/trash/${trashedFile}/restore`, json({})]],
  ['post /-/trash/{id}/restore', 'folder', ({ trashedFolder }) => [`/-/trash/${trashedFolder}/restore`, json({})]],
  [
    'post /-/trash/{id}/restore',
    'with another name',
    ({ trashedFile }) => [`/-/trash/${trashedFile}/restore`, json({ onConflict: 'rename' })],
  ],
  ['post /-/trash/{id}/restore', 'job', ({ trashedFolder }) => [`/-/trash/${trashedFolder}/restore`, asJob(json({}))]],
  ['post /-/uploads', 'new file', ({ root }) => ['/-/uploads', tus(`${root}a/x.txt`, 'new')]],
  ['post /-/undo', 'of a new file', ({ changes }) => undo(changes['a/g.txt'])],
  ['post /-/undo', 'of a deleted file', ({ changes }) => undo(changes['a/t.txt'])],
  ['post /-/undo', 'of a deleted folder', ({ changes }) => undo(changes['a/u/'])],
  ['post /upload', 'by a visitor', ({ link }) => [`${link}upload`, form('', 'f.txt')]],
  ['put /file/{path}', 'by a visitor', ({ link }) => [`${link}file/x.txt`, put]],
  ['post /create_folder', 'by a visitor', ({ link }) => [`${link}create_folder`, json({ path: 'x/' })]],
  ['post /copy', 'by a visitor', ({ link }) => [`${link}copy`, transfer('', 'g.txt', 'x.txt', false)]],
  ['WebDAV', 'PUT of a new file', ({ root }) => [`/-/dav/${root}a/x.txt`, put]],
  ['WebDAV', 'LOCK of a new file', ({ root }) => [`/-/dav/${root}a/x.txt`, { method: 'LOCK', body: LOCK }]],
  ['WebDAV', 'MKCOL', ({ root }) => dav('MKCOL', root, 'a/x/')],
  ['WebDAV', 'COPY of a folder', ({ root }) => dav('COPY', root, 'b/', 'a/x/')],
  ['WebDAV', 'COPY with Depth: 0', ({ root }) => dav('COPY', root, 'b/', 'a/x/', { depth: '0' })],
  ['WebDAV', 'MOVE of a folder', ({ root }) => dav('MOVE', root, 'b/', 'a/x/')],
];

/** Changes that remove or replace `b/`, or move it away. */
const FOLDER: readonly Row[] = [
  ['delete /delete_folder/{path}', '', ({ root }) => [`/delete_folder/${root}b/`, { method: 'DELETE' }]],
  [
    'post /delete_folder/{path}',
    'permanent',
    ({ root }) => [`/delete_folder/${root}b/?permanent=true`, { method: 'POST' }],
  ],
  ['delete /delete_folder/{path}', 'job', ({ root }) => [`/delete_folder/${root}b/`, asJob({ method: 'DELETE' })]],
  ['post /rename_folder/{path}', 'away', ({ root }) => [`/rename_folder/${root}b/`, json({ newName: 'x' })]],
  ['post /rename_folder/{path}', 'job', ({ root }) => [`/rename_folder/${root}b/`, asJob(json({ newName: 'x' }))]],
  [
    'post /rename_folder/{path}',
    'onto it',
    ({ root }) => [`/rename_folder/${root}c/`, json({ newName: 'b', overwrite: true })],
  ],
  ['post /move', 'away', ({ root }) => ['/move', transfer(root, 'b/', 'a/x/')]],
  ['post /move', 'onto it', ({ root }) => ['/move', transfer(root, 'c/', 'b/')]],
  ['post /move', 'job', ({ root }) => ['/move', asJob(transfer(root, 'c/', 'b/'))]],
  ['post /copy', 'onto it', ({ root }) => ['/copy', transfer(root, 'c/', 'b/')]],
  ['post /copy', 'job', ({ root }) => ['/copy', asJob(transfer(root, 'c/', 'b/'))]],
  ['post /-/undo', 'of a copy', ({ changes }) => undo(changes['b/'])],
  ['WebDAV', 'DELETE of a folder', ({ root }) => dav('DELETE', root, 'b/')],
  ['WebDAV', 'MOVE away', ({ root }) => dav('MOVE', root, 'b/', 'x/')],
  ['WebDAV', 'MOVE of a folder onto it', ({ root }) => dav('MOVE', root, 'c/', 'b/')],
  ['WebDAV', 'MOVE of a file onto it', ({ root }) => dav('MOVE', root, 'c/f.txt', 'b')],
  ['WebDAV', 'COPY of a folder onto it', ({ root }) => dav('COPY', root, 'c/', 'b/')],
  ['WebDAV', 'COPY with Depth: 0 onto it', ({ root }) => dav('COPY', root, 'c/', 'b/', { depth: '0' })],
  ['WebDAV', 'COPY of a file onto it', ({ root }) => dav('COPY', root, 'c/f.txt', 'b')],
];

/** Changes of the properties of `b/`. */
const FOLDER_PROPERTIES: readonly Row[] = [
  ['WebDAV', 'PROPPATCH of a folder', ({ root }) => [`/-/dav/${root}b/`, { method: 'PROPPATCH', body: PROPERTIES }]],
];

/** Changes of the empty folder `e/`. */
const EMPTY_FOLDER: readonly Row[] = [['post /-/undo', 'of a new folder', ({ changes }) => undo(changes['e/'])]];

const TABLES: readonly (readonly [what: string, rows: readonly Row[], locks: readonly LockOf[]])[] = [
  ['changes the content of a file', CONTENT, [['a/f.txt'], ['a/'], ['']]],
  ['removes or replaces a file', REMOVAL, [['a/f.txt'], ['a/'], ['a/', '0'], ['']]],
  ['adds or removes a name', MEMBERSHIP, [['a/'], ['a/', '0'], ['']]],
  ['removes or replaces a folder', FOLDER, [['b/'], ['b/', '0'], ['b/f.txt'], ['b/s/', '0'], ['', '0'], ['']]],
  ['changes the properties of a folder', FOLDER_PROPERTIES, [['b/'], ['b/', '0'], ['']]],
  ['removes an empty folder', EMPTY_FOLDER, [['e/'], ['', '0'], ['']]],
];

/** The operations that change no file, folder or version that exists at a path. */
const UNAFFECTED: readonly string[] = [
  // Items of the trash have no path.
  'delete /-/trash',
  'delete /-/trash/{id}',
  'delete /-/uploads/{id}',
  'delete /-/jobs/{id}',
  'delete /-/locks/{id}',
  // tests/http/direct-uploads.test.ts has the locks of uploads to a bucket.
  'post /-/uploads/{id}/parts',
  // They read files.
  'post /-/media',
  'post /-/zip',
];

/** The groups of operations that manage something other than files. */
const OTHER_TAGS: readonly string[] = ['App tokens', 'Share links', 'Sign-in', 'Webhooks'];

describe('A lock of another client', () => {
  const service = served(memory, { hasJobs: true });
  let tables = 0;

  const succeed = async (path: string, call: Call) => {
    const response = await send(service.port, path, call);
    assert.ok(response.status < 300, `${path}: ${response.status} ${response.body.toString()}`);
    return response;
  };

  const prepare = async (): Promise<State> => {
    const root = `r${++tables}/`;
    const changes: Record<string, string> = {};
    const changed = async (path: string, response: Promise<HttpResponse>) => {
      changes[path] = String(jsonOf(await response)['change']);
    };
    const store = (path: string) => changed(path, upload(service.port, root + path, path));
    const get = async (path: string) =>
      jsonOf(await succeed(path, {})) as Record<string, Record<'id' | 'path', string>[]>;
    await Promise.all(['a/f.txt', 'a/g.txt', 'a/t.txt', 'a/u/f.txt', 'c/f.txt', 'c/s/g.txt'].map(store));
    const [{ headers }, created] = await Promise.all([
      succeed('/-/uploads', tus(`${root}a/f.txt`)),
      succeed('/-/links', json({ path: `${root}a/`, permissions: ['read', 'write'] })),
      store('a/f.txt'),
      changed('b/', succeed('/copy', transfer(root, 'c/', 'b/'))),
      changed('e/', succeed('/create_folder', json({ path: `${root}e/` }))),
      changed('a/t.txt', succeed(`/file/${root}a/t.txt`, { method: 'DELETE' })),
      changed('a/u/', succeed(`/delete_folder/${root}a/u/`, { method: 'DELETE' })),
    ]);
    const { entries = [] } = await get(`/-/trash?folder=${root}a/`);
    const trashed = (path: string) => entries.find((item) => item.path === root + path)?.id ?? assert.fail(path);
    const { versions = [] } = await get(`/-/versions/${root}a/f.txt`);
    return {
      root,
      changes,
      version: versions.at(-1)?.id ?? assert.fail(),
      trashedFile: trashed('a/t.txt'),
      trashedFolder: trashed('a/u/'),
      begun: new URL(String(headers.location), 'http://x').pathname,
      link: new URL(String(jsonOf(created)['url'])).pathname,
    };
  };

  /** Returns what exists in the folder of a table, the trash, and the versions of a file. */
  const snapshot = async ({ root }: State) => {
    const trash = await succeed(`/-/trash?folder=${root}`, {});
    const versions = await succeed(`/-/versions/${root}a/f.txt`, {});
    return [await treeOf(service.port, root), jsonOf(trash)['entries'], jsonOf(versions)['versions']];
  };

  it('concerns every operation of the HTTP API that can change a file, which is in a table of this test', async () => {
    const { paths } = jsonOf(await succeed('/-/openapi.json', {})) as {
      paths: Record<string, Record<string, { tags: readonly string[] }>>;
    };
    const changing = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(
          ([method, { tags }]) => !['get', 'head'].includes(method) && !tags.some((tag) => OTHER_TAGS.includes(tag)),
        )
        .map(([method]) => `${method} ${path}`),
    );
    const tested = TABLES.flatMap(([, table]) => table.map(([route]) => route)).filter((route) => route !== 'WebDAV');
    assert.deepEqual(changing.toSorted(), [...new Set([...tested, ...UNAFFECTED])].toSorted());
  });

  for (const [what, table, locks] of TABLES) {
    it(`refuses every request that ${what}, until it ends`, async () => {
      const state = await prepare();
      const present = await snapshot(state);
      for (const [locked, depth = 'infinity'] of locks) {
        const where = `/-/dav/${state.root}${locked}`;
        const { headers } = await succeed(where, { method: 'LOCK', headers: { depth }, body: LOCK });
        for (const [route, variant, request] of table) {
          const [path, call] = request(state);
          const { status, body } = await send(service.port, path, call);
          const message = `${route} ${variant} with a lock of "${locked}", Depth ${depth}: ${status} ${body.toString()}`;
          if (route === 'WebDAV') assert.equal(status, 423, message);
          else assert.deepEqual([status, JSON.parse(body.toString()).code], [409, 'locked'], message);
        }
        await succeed(where, { method: 'UNLOCK', headers: { 'lock-token': String(headers['lock-token']) } });
      }
      assert.deepEqual(await snapshot(state), present);
      for (const [, , request] of table.slice(0, 1)) await succeed(...request(state));
    });
  }

  it('of a name that is taken does not prevent a restore with another name, nor does one in a folder of that name', async () => {
    const { root, trashedFile, trashedFolder } = await prepare();
    for (const path of ['a/t.txt', 'a/u/f.txt']) await upload(service.port, root + path, 'newer');
    const lock = async (path: string) => succeed(`/-/dav/${root}${path}`, { method: 'LOCK', body: LOCK });
    for (const path of ['a/t.txt', 'a/u/f.txt']) await lock(path);
    const rename = json({ onConflict: 'rename' });
    const restored = [
      await succeed(`/-/trash/${trashedFile}/restore`, rename),
      await succeed(`/-/trash/${trashedFolder}/restore`, asJob(rename)),
    ];
    assert.deepEqual(
      restored.map((response) => jsonOf(response)['path']),
      [`${root}a/t (2).txt`, `${root}a/u (2)/`],
    );
  });
});
