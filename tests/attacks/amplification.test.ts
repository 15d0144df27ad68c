import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import sharp from 'sharp';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { parseFile } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { type Backend, disk } from '../contract/backend.ts';
import { silentLog } from '../contract/bytes.ts';
import { begin, type Call, type HttpResponse } from '../http/client.ts';
import { type Cost, CostMeter } from './cost.ts';

interface Row {
  readonly title: string;
  /** The path and the call can differ for each time that the request is sent. */
  readonly path: string | ((run: number) => string);
  readonly call?: Call | ((run: number) => Call);
  readonly status: number;
  /** Default: an anonymous user, who sees no locks. */
  readonly user?: 'ann';
  /** Whether the response is a stream without an end. */
  readonly isStream?: boolean;
  readonly ceiling?: Partial<Cost>;
}

const FILES = 300;
const ZIP_FILES = 1000;
/** Changes in the log: more than a request reads. */
const CHANGES = 5000;
const FILES_WITH_PROPERTIES = 50;
const PROPERTIES = 20;
const KIB = 1024;
const MIB = 1024 * KIB;

/** What a request may cost without a ceiling of its own: for example, the CPU time of a hundred small downloads. */
const DEFAULT: Cost = {
  cpu: 100,
  heap: 24 * MIB,
  memory: 64 * MIB,
  disk: 256 * KIB,
  rows: 4,
  calls: 4,
  response: 16 * KIB,
};

const zipped = Array.from({ length: ZIP_FILES }, (_, index) => `zipped/${index}`);
const deep = (folders: number) => 'a/'.repeat(folders);
const propfind = (body: string, depth = '1'): Call => ({ method: 'PROPFIND', headers: { depth }, body });
const names = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `<n${index}${'x'.repeat(length)} xmlns=""/>`).join('');
const body = (name: string, content: string) => `<D:${name} xmlns:D="DAV:">${content}</D:${name}>`;
const owner = 'o'.repeat(1500);
const lock = (content: string): Call => ({
  method: 'LOCK',
  body: body('lockinfo', `<D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype>${content}`),
});
const propertyUpdate = (count: number, length: number): Call => {
  const set = Array.from({ length: count }, (_, index) => `<p${index}>${'x'.repeat(length)}</p${index}>`);
  return {
    method: 'PROPPATCH',
    body: body('propertyupdate', `<D:set><D:prop xmlns="x">${set.join('')}</D:prop></D:set>`),
  };
};
const tus = (path: string): Call => ({
  method: 'POST',
  headers: {
    'tus-resumable': '1.0.0',
    'upload-length': String(10 ** 12),
    'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
  },
});
const eventStream: Call = { headers: { accept: 'text/event-stream' } };

const ROWS: readonly Row[] = [
  {
    title: 'a body with many attributes',
    path: '/-/dav/',
    call: propfind(`<a ${Array.from({ length: 1500 }, (_, index) => `a${index}=""`).join(' ')}/>`),
    status: 400,
  },
  { title: 'an unfinished declaration', path: '/-/dav/', call: propfind(`<!${'a'.repeat(16_000)}`), status: 400 },
  { title: 'a large body of an anonymous client', path: '/-/dav/', call: propfind(' '.repeat(20_000)), status: 413 },
  {
    title: 'a PROPFIND of long names',
    path: '/-/dav/many/',
    call: propfind(body('propfind', `<D:prop>${names(50, 200)}</D:prop>`)),
    status: 400,
  },
  {
    title: 'a PROPFIND of many names',
    path: '/-/dav/many/',
    call: propfind(body('propfind', `<D:prop>${names(200, 10)}</D:prop>`)),
    status: 207,
    ceiling: { response: FILES * 10 * KIB },
  },
  {
    title: 'a PROPFIND of names that each file lacks',
    path: '/-/dav/many/',
    call: propfind(body('propfind', `<D:prop>${names(70, 100)}</D:prop>`)),
    status: 403,
  },
  {
    title: 'a PROPFIND of a folder with shared locks',
    path: '/-/dav/locked/many/',
    call: propfind(''),
    user: 'ann',
    status: 207,
    ceiling: { response: FILES * 6 * KIB },
  },
  {
    title: 'a lock with a long owner',
    path: '/-/dav/many/',
    call: lock(`<D:owner>${owner}</D:owner>`),
    status: 422,
  },
  { title: 'a new folder in 33 others', path: '/create_folder', call: json({ path: deep(34) }), status: 400 },
  { title: 'a new file in 33 folders', path: `/file/${deep(33)}b`, call: { method: 'PUT', body: 'x' }, status: 400 },
  {
    title: 'a copy into 33 new folders',
    path: '/copy',
    call: json({ source: 'many/0', destination: `${deep(33)}b`, is_folder: false }),
    status: 400,
  },
  {
    title: 'a move of a folder into 33 new folders',
    path: '/move',
    call: json({ source: 'many/', destination: `${deep(33)}b/`, is_folder: true }),
    status: 400,
  },
  { title: 'the headers of changes', path: '/-/changes?since=oldest', call: { method: 'HEAD' }, status: 200 },
  {
    title: 'an undo of an unknown change',
    path: '/-/undo',
    call: json({ change: 'AAAAAAAAAAAAAAAAAAAAAA' }),
    status: 404,
  },
  {
    title: 'a listing',
    path: '/many/',
    call: { headers: { accept: 'application/json' } },
    status: 200,
    ceiling: { response: FILES * 512 },
  },
  {
    title: 'a listing of names',
    path: `/many/?${Array.from({ length: 100 }, (_, index) => `name=${index}`).join('&')}`,
    call: { headers: { accept: 'application/json' } },
    status: 200,
    ceiling: { calls: 100, response: 64 * KIB },
  },
  {
    title: 'a PROPFIND of a folder',
    path: '/-/dav/many/',
    call: propfind(''),
    status: 207,
    ceiling: { response: FILES * KIB },
  },
  { title: 'a PROPFIND of a tree', path: '/-/dav/', call: propfind('', 'infinity'), status: 403 },
  {
    title: 'a lock of a file',
    path: (run) => `/-/dav/many/${run}`,
    call: lock('<D:owner>o</D:owner>'),
    user: 'ann',
    status: 200,
  },
  {
    title: 'a copy of properties',
    path: '/-/dav/propertied/',
    call: (run) => ({ method: 'COPY', headers: { destination: `/-/dav/copy${run}/` } }),
    status: 201,
    // Of each file, as much as three downloads. Two calls identify the copy, so that its undo deletes no other folder.
    ceiling: { cpu: FILES_WITH_PROPERTIES * 3, disk: 2 * MIB, rows: FILES_WITH_PROPERTIES * PROPERTIES + 1, calls: 6 },
  },
  {
    title: 'a ZIP',
    path: '/-/zip/zipped/',
    status: 200,
    // Of each file, half as much as a download of its own.
    ceiling: { cpu: ZIP_FILES / 2, heap: ZIP_FILES * 64 * KIB, calls: ZIP_FILES + 2, response: ZIP_FILES * 256 },
  },
  { title: 'the headers of a ZIP', path: '/-/zip/zipped/', call: { method: 'HEAD' }, status: 200 },
  { title: 'a part of a ZIP', path: '/-/zip/zipped/', call: { headers: { range: 'bytes=-1' } }, status: 206 },
  {
    title: 'a part of a ZIP of many paths',
    path: '/-/zip',
    call: json({ paths: zipped }, { range: 'bytes=-1' }),
    status: 206,
    ceiling: { heap: ZIP_FILES * 40 * KIB, calls: ZIP_FILES + 2 },
  },
  {
    title: 'a ZIP of many paths that do not exist',
    path: '/-/zip',
    call: json({ paths: Array.from({ length: 5000 }, (_, index) => `zipped/n${index}`) }),
    status: 404,
    ceiling: { calls: 16 },
  },
  {
    title: 'the details of many images',
    path: '/-/media',
    call: json({ paths: Array.from({ length: 500 }, (_, index) => `many/${index % FILES}`) }),
    status: 200,
    ceiling: { calls: 500 },
  },
  { title: 'a thumbnail', path: (run) => `/thumb/photos/${run}.png`, status: 200 },
  {
    title: 'a thumbnail of too many pixels',
    path: (run) => `/thumb/bombs/${run}.png`,
    status: 413,
    // Starts a child process, of which one runs at a time.
    ceiling: { cpu: 3000 },
  },
  { title: 'a thumbnail that has failed before', path: '/thumb/bombs/0.png', status: 413 },
  {
    title: 'an attempt to sign in',
    path: '/-/session',
    call: (run) => json({ name: `nobody${run}`, password: 'wrong' }),
    status: 401,
    // Slow on purpose, and bounded by the limits of attempts and of concurrent checks.
    ceiling: { cpu: 3000 },
  },
  { title: 'an unfinished upload', path: '/-/uploads', call: (run) => tus(`big${run}`), status: 201 },
  { title: 'a stream of changes', path: '/-/changes?since=oldest', call: eventStream, isStream: true, status: 200 },
  { title: 'a search of changes', path: '/-/changes?since=oldest&folder=nothing', status: 200 },
  { title: 'a page of changes', path: '/-/changes?before=newest', status: 200, ceiling: { response: 1000 * 256 } },
  { title: 'a list of the changes of a file', path: '/-/changes?before=newest&file=many/0', status: 200 },
  { title: 'a small upload', path: (run) => `/file/new${run}`, call: { method: 'PUT', body: 'x' }, status: 201 },
  {
    title: 'many properties',
    path: (run) => `/-/dav/many/${100 + run}`,
    call: propertyUpdate(100, 16),
    status: 207,
    ceiling: { rows: 101 },
  },
  { title: 'the trash', path: '/-/trash', user: 'ann', status: 200 },
];

describe('A request costs not much more than its bytes:', () => {
  let service: GuardedService;
  let meter: CostMeter;
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-test-amplification-'));
    const root = join(folder, 'root');
    await plant(root);
    const backend: Backend = {
      ...disk,
      open: async () => {
        const { store } = await openDisk({ root, log: silentLog });
        return { store, streamsLargeFiles: true, close: async () => store.close?.() };
      },
    };
    meter = new CostMeter(folder, () => service.asAnonymous('/file/many/0'));
    // The folder for everything else that the service stores.
    process.env['TMPDIR'] = folder;
    service = await startGuardedService(backend, { hasJobs: true, wrap: (store) => meter.count(store) });
    service.grant(grant('', PERMISSIONS), grant('', PERMISSIONS, EVERYONE));
    // Without the limit, 16 locks would cover each file.
    for (const locked of Array.from({ length: 8 }, () => ['locked/', 'locked/many/']).flat()) {
      const { status } = await service.asAnn(`/-/dav/${locked}`, lock(`<D:owner>${'o'.repeat(900)}</D:owner>`));
      assert.ok(status === 200 || status === 400, `${status}`);
    }
    const change = { type: 'file.created', path: parseFile('noise/a'), size: 1, etag: 'a' } as const;
    await service.changes?.feed.log.append(Array.from({ length: CHANGES }, () => change));
    for (let index = 0; index < FILES_WITH_PROPERTIES; index++) {
      const { status } = await service.asAnn(`/-/dav/propertied/${index}`, propertyUpdate(PROPERTIES, 100));
      assert.equal(status, 207);
    }
  });
  after(async () => {
    meter.close();
    await service.stop();
    await rm(folder, { recursive: true });
  });

  const send = async (row: Row, run: number): Promise<HttpResponse> => {
    const { user, isStream = false } = row;
    const { path, call } = requestOf(row, run);
    if (isStream) {
      const { response, disconnect } = begin(service.port, path, call);
      const { statusCode = 0, headers } = await response;
      disconnect();
      return { status: statusCode, headers, body: Buffer.alloc(0) };
    }
    return user === 'ann' ? service.asAnn(path, call) : service.asAnonymous(path, call);
  };

  for (const row of ROWS) {
    it(row.title, async () => {
      const ceiling = { ...DEFAULT, ...row.ceiling };
      const cost = await meter.measure({ send: (run) => send(row, run), status: row.status });
      const { path, call } = requestOf(row, 0);
      const sent = Buffer.byteLength(path + JSON.stringify(call.headers ?? {}) + (call.body ?? ''));
      for (const [column, value] of Object.entries(cost) as [keyof Cost, number][]) {
        assert.ok(
          value <= ceiling[column],
          `${sent} bytes cost ${JSON.stringify(cost)}: ${column} exceeds ${ceiling[column]}.`,
        );
      }
    });
  }

  it('lists a folder of 33 levels that exists, and creates one more in it', async () => {
    for (const folders of [32, 33, 34]) {
      assert.equal((await service.asAnn('/create_folder', json({ path: deep(folders) }))).status, 200, `${folders}`);
    }
  });
});

function requestOf({ path, call = {} }: Row, run: number): { readonly path: string; readonly call: Call } {
  return {
    path: typeof path === 'function' ? path(run) : path,
    call: typeof call === 'function' ? call(run) : call,
  };
}

/** Creates the files of the service. */
async function plant(root: string): Promise<void> {
  const photo = await sharp({ create: { width: 1500, height: 1500, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const bomb = Buffer.from(photo);
  // Width and height of the header.
  for (const offset of [16, 20]) bomb.writeUInt32BE(40_000, offset);
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index));
  const folders: [string, string[], string | Buffer][] = [
    ['many', numbered(FILES), 'x'],
    ['locked/many', numbered(FILES), 'x'],
    ['propertied', numbered(FILES_WITH_PROPERTIES), 'x'],
    ['zipped', numbered(ZIP_FILES), 'x'],
    ['photos', numbered(8).map((name) => `${name}.png`), photo],
    ['bombs', numbered(8).map((name) => `${name}.png`), bomb],
  ];
  for (const [folder, files, content] of folders) {
    await mkdir(join(root, folder), { recursive: true });
    await Promise.all(files.map((name) => writeFile(join(root, folder, name), content)));
  }
}
