import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import type { Store } from '../../src/model/store.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import type { Call } from '../http/client.ts';

/** What a request may cost at most. */
interface Ceiling {
  /** Milliseconds of CPU time, with a large margin. */
  readonly cpu: number;
  readonly responseBytes: number;
  /** Calls of the store. */
  readonly calls: number;
}

interface Row {
  readonly title: string;
  readonly path: string;
  readonly call: Call;
  readonly status: number;
  /** Default: an anonymous user, who sees no locks. */
  readonly user?: 'ann';
  readonly ceiling?: Partial<Ceiling>;
}

const FILES = 300;
const DEFAULT: Ceiling = { cpu: 700, responseBytes: 16 * 1024, calls: 4 };

const deep = (folders: number) => 'a/'.repeat(folders);
const propfind = (body: string): Call => ({ method: 'PROPFIND', headers: { depth: '1' }, body });
const names = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `<n${index}${'x'.repeat(length)} xmlns=""/>`).join('');
const body = (name: string, content: string) => `<D:${name} xmlns:D="DAV:">${content}</D:${name}>`;
const owner = 'o'.repeat(1500);
const lock = (content: string): Call => ({
  method: 'LOCK',
  body: body('lockinfo', `<D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype>${content}`),
});

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
    ceiling: { responseBytes: FILES * 10 * 1024 },
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
    ceiling: { responseBytes: FILES * 6 * 1024 },
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
];

describe('A request costs not much more than its bytes:', () => {
  let service: GuardedService;
  let calls = 0;
  before(async () => {
    const counted = (store: Store): Store =>
      new Proxy(store, {
        get(target, member, receiver) {
          const value: unknown = Reflect.get(target, member, receiver);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            if (member !== 'isSizeCertain') calls++;
            return Reflect.apply(value, target, args);
          };
        },
      });
    service = await startGuardedService(memory, { hasJobs: true, wrap: counted });
    service.grant(grant('', PERMISSIONS), grant('', PERMISSIONS, EVERYONE));
    const planted = Array.from({ length: FILES }, (_, index) => [`many/${index}`, `locked/many/${index}`]).flat();
    await service.plant(Object.fromEntries(planted.map((name) => [name, 'x'])));
    // Without the limit, 16 locks would cover each file.
    for (const folder of Array.from({ length: 8 }, () => ['locked/', 'locked/many/']).flat()) {
      const { status } = await service.asAnn(`/-/dav/${folder}`, lock(`<D:owner>${'o'.repeat(900)}</D:owner>`));
      assert.ok(status === 200 || status === 400, `${status}`);
    }
    // The first requests compile code.
    for (const row of ROWS) await request(row);
  });
  after(() => service.stop());

  const request = ({ path, call, user }: Row) =>
    user === 'ann' ? service.asAnn(path, call) : service.asAnonymous(path, call);

  for (const row of ROWS) {
    const { title, status, ceiling } = row;
    it(title, async () => {
      const limits = { ...DEFAULT, ...ceiling };
      calls = 0;
      const start = process.cpuUsage();
      const response = await request(row);
      const { user, system } = process.cpuUsage(start);
      assert.equal(response.status, status, response.body.toString().slice(0, 300));
      assert.ok(response.body.length <= limits.responseBytes, `${response.body.length} bytes`);
      assert.ok(calls <= limits.calls, `${calls} calls`);
      assert.ok((user + system) / 1000 <= limits.cpu, `${(user + system) / 1000} ms`);
    });
  }

  it('lists a folder of 33 levels that exists, and creates one more in it', async () => {
    for (const folders of [32, 33, 34]) {
      assert.equal((await service.asAnn('/create_folder', json({ path: deep(folders) }))).status, 200, `${folders}`);
    }
  });
});
