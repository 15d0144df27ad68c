import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { POSTGRES_PASSWORD, startPostgres, type TestPostgres } from '../../testing/servers/postgres.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { BEARER, startDav } from './dav-service.ts';
import { treeIn } from './trees.ts';

export const needs: readonly Need[] = ['postgres'];

let server: TestPostgres;
before(async () => {
  server = await startPostgres();
});
after(() => server.stop());

const METRICS_TOKEN = 'a-token-of-the-tests';

const LOCK_BODY = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const PROPERTY_BODY =
  '<propertyupdate xmlns="DAV:"><set><prop><color xmlns="urn:example:">red</color></prop></set></propertyupdate>';

it('changes files without locks while the database is down, which it reports, refuses the rest, and recovers by itself', async (t) => {
  const settings = { DATABASE_URL: await server.createMigratedDatabase(), METRICS_TOKEN };
  const service = await startDav(t, { settings });
  const request = (
    method: string,
    path: string,
    { body, ...headers }: Readonly<Record<string, string>> & { readonly body?: string } = {},
  ) => {
    const call = { method, headers: { ...BEARER, ...headers }, ...(body !== undefined && { body }) };
    return send(service.port, service.path + path, call);
  };
  const stateOf = async () => {
    const response = await send(service.port, '/-/health/ready');
    assert.equal(response.status, 200);
    return jsonOf(response)['database'];
  };
  const assertMetric = async (value: 0 | 1) => {
    const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
    const { body } = await send(service.port, '/-/metrics', { headers });
    assert.match(body.toString(), new RegExp(`^holdall_database_unavailable\\{worker="1"\\} ${value}$`, 'm'));
  };
  const to = (path: string) => ({ destination: service.path + path });
  assert.equal(await stateOf(), 'available');
  for (const folder of ['docs/', 'many/', 'old/']) assert.equal((await request('MKCOL', folder)).status, 201);
  for (const file of ['a', 'b', 'c', 'locked', 'docs/in', 'old/in']) await request('PUT', file, { body: file });
  // A folder of several pages is streamed.
  for (let number = 0; number <= 1000; number++) await writeFile(join(service.root, `many/${number}`), '');
  const { headers } = await request('LOCK', 'locked', { body: LOCK_BODY });
  const token = String(headers['lock-token']);
  const ifLocked = { if: `(${token})` };

  await server.kill();
  await until('the loss is found', async () => (await stateOf()) === 'unavailable');
  await assertMetric(1);
  for (const [method, path, options] of [
    ['PROPFIND', '', { depth: '1' }],
    ['PROPFIND', 'many/', { depth: '1' }],
    ['PROPFIND', 'a', { depth: '0' }],
    ['PROPPATCH', 'a', { body: PROPERTY_BODY }],
    ['LOCK', 'a', { body: LOCK_BODY }],
    ['LOCK', 'unused', { body: LOCK_BODY }],
    ['LOCK', 'locked', ifLocked],
    ['UNLOCK', 'locked', { 'lock-token': token }],
    ['PUT', 'locked', { ...ifLocked, body: 'new' }],
    ['MKCOL', 'unused/', ifLocked],
    ['DELETE', 'locked', ifLocked],
    ['MOVE', 'locked', { ...ifLocked, ...to('a') }],
  ] as const) {
    const response = await request(method, path, options);
    assert.equal(response.status, 503, `${method} ${path}`);
    assert.equal(response.headers['retry-after'], '5');
  }
  for (const [method, path, options, status] of [
    ['GET', 'a', {}, 200],
    ['PUT', 'a', { body: 'new' }, 204],
    ['PUT', 'a', { if: '(<urn:example:no-lock>)', body: 'other' }, 412],
    ['PUT', 'b', { if: '(Not <DAV:no-lock>)', body: 'new' }, 204],
    ['PUT', 'locked', { body: 'new' }, 204],
    ['MKCOL', 'new/', {}, 201],
    ['COPY', 'docs/', to('copy/'), 201],
    ['COPY', 'docs/', { ...to('old/'), depth: '0' }, 204],
    ['MOVE', 'docs', to('moved'), 201],
    ['MOVE', 'b', to('c'), 204],
    ['DELETE', 'many/', {}, 204],
  ] as const) {
    assert.equal((await request(method, path, options)).status, status, `${method} ${path}`);
  }
  assert.deepEqual(await treeIn(service.root), {
    a: 'new',
    c: 'new',
    locked: 'new',
    'copy/in': 'docs/in',
    'moved/in': 'docs/in',
    'new/': null,
    'old/': null,
  });
  const warnings = service.log.filter(
    ({ msg }) => msg === 'WebDAV locks and properties of changed files were not updated',
  );
  assert.equal(warnings.length, 1);

  await server.restart();
  await until('the database is available', async () => (await stateOf()) === 'available');
  await assertMetric(0);
  assert.equal(service.log.filter(({ msg }) => String(msg).startsWith('Database available again')).length, 1);
  assert.ok(!service.printed().includes(POSTGRES_PASSWORD));
  assert.equal((await request('PROPFIND', 'a', { depth: '0' })).status, 207);
  assert.equal((await request('PUT', 'locked')).status, 423);
  assert.equal((await request('DELETE', 'locked', ifLocked)).status, 204);
});
