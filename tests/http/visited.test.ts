import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memory } from '../contract/backend.ts';
import { NAMES } from '../contract/names.ts';
import { assertFailure, escapePath, jsonOf, postForm, send, upload } from './client.ts';
import { served, visited } from './service.ts';
import { wireSuite } from './stores/wire.ts';

const backend = visited(memory);

// The memory store has no download URLs.
wireSuite(backend, { hasDownloadUrls: false });

const json = (body: object) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const fetchFile = (port: number, path: string) => send(port, `/file/${escapePath(path)}`);
const transfer = (is_folder: boolean, destination: string) => ({
  source: is_folder ? 'f/' : 'a.txt',
  destination,
  is_folder,
});

/** The requests that a share link with all permissions refuses, with the status and the code. */
const REFUSALS: Readonly<Record<string, readonly [number, string]>> = {
  'DELETE /delete/a.txt': [403, 'permission-denied'],
  'POST /delete/a.txt': [403, 'permission-denied'],
  'DELETE /delete/a.txt?permanent=true': [403, 'permission-denied'],
  'DELETE /file/a.txt': [403, 'permission-denied'],
  'DELETE /delete/missing': [403, 'permission-denied'],
  'DELETE /delete_folder/f': [403, 'permission-denied'],
  'POST /delete_folder/f': [403, 'permission-denied'],
  'DELETE /delete_folder/': [403, 'permission-denied'],
  'GET /file/a.txt?version=0123456789abcdef': [400, 'invalid-parameter'],
  'GET /-/versions/a.txt': [404, 'unknown-route'],
  'GET /-/trash': [404, 'unknown-route'],
  'DELETE /-/trash': [404, 'unknown-route'],
  'GET /-/changes': [404, 'unknown-route'],
  'GET /-/jobs': [404, 'unknown-route'],
  'GET /-/webhooks': [404, 'unknown-route'],
  'GET /-/links': [404, 'unknown-route'],
  'GET /-/session': [404, 'unknown-route'],
  'GET /-/sign-in': [404, 'unknown-route'],
  'GET /-/docs': [404, 'unknown-route'],
  'GET /-/openapi.json': [404, 'unknown-route'],
  'GET /-/metrics': [404, 'unknown-route'],
  'GET /-/health': [404, 'unknown-route'],
  'GET /-/ready': [404, 'unknown-route'],
  'GET /-/s/': [404, 'unknown-route'],
  'GET /-/nothing': [404, 'unknown-route'],
  'PATCH /file/a.txt': [405, 'method-not-allowed'],
};

/** The same for requests with a JSON body. */
const JSON_REFUSALS: readonly (readonly [string, object, number, string])[] = [
  ['/rename/a.txt', { newName: 'b.txt' }, 403, 'permission-denied'],
  ['/rename_folder/f', { newName: 'g' }, 403, 'permission-denied'],
  ['/move', transfer(false, 'b.txt'), 403, 'permission-denied'],
  ['/move', transfer(true, 'g/'), 403, 'permission-denied'],
  ['/copy', { ...transfer(false, 'f/b.txt'), overwrite: true }, 403, 'permission-denied'],
  ['/copy', { ...transfer(true, 'g/'), overwrite: true }, 403, 'permission-denied'],
  ['/-/undo', { change: 'x' }, 404, 'unknown-route'],
  ['/-/links', { path: '' }, 404, 'unknown-route'],
  ['/-/webhooks', { url: 'https://example.org' }, 404, 'unknown-route'],
  ['/-/session', { username: 'ann', password: 'x' }, 404, 'unknown-route'],
  ['/-/trash/x/restore', {}, 404, 'unknown-route'],
  ['/-/versions/a.txt', { version: 'x' }, 404, 'unknown-route'],
];

describe('A share link with all permissions', () => {
  const service = served(backend, {}, async ({ port }) => {
    await upload(port, 'a.txt', 'a');
    await upload(port, 'f/b.txt', 'b');
  });

  for (const [request, [status, code]] of Object.entries(REFUSALS)) {
    it(`${request} returns ${status} ${code}`, async () => {
      const [method = '', path = ''] = request.split(' ');
      const response = await send(service.port, path, { method });
      assertFailure(response, status, /./);
      assert.equal((jsonOf(response) as { code: string }).code, code);
      assert.doesNotMatch(response.body.toString(), /hidden|shared/);
    });
  }

  for (const [path, body, status, code] of JSON_REFUSALS) {
    it(`POST ${path} ${JSON.stringify(body)} returns ${status} ${code}`, async () => {
      const response = await send(service.port, path, json(body));
      assertFailure(response, status, /./);
      assert.equal((jsonOf(response) as { code: string }).code, code);
      assert.doesNotMatch(response.body.toString(), /hidden|shared/);
    });
  }

  it('copies files to new names, creates folders, and copies no folders', async () => {
    assert.equal((await send(service.port, '/copy', json(transfer(false, 'copies/a.txt')))).status, 200);
    assert.equal((await send(service.port, '/copy', json(transfer(true, 'copies/g/')))).status, 403);
    assert.equal((await send(service.port, '/create_folder', json({ path: 'copies/new' }))).status, 200);
    const { entries } = jsonOf(await send(service.port, '/copies/')) as { entries: readonly { path: string }[] };
    assert.deepEqual(
      entries.map(({ path }) => path),
      ['copies/a.txt', 'copies/new/'],
    );
  });

  it('gives a taken name a number, and replaces nothing', async () => {
    const response = await upload(service.port, 'a.txt', 'another');
    assert.equal((jsonOf(response) as { path: string }).path, 'a (2).txt');
    assert.equal((await fetchFile(service.port, 'a.txt')).body.toString(), 'a');
    assert.equal((await fetchFile(service.port, 'a (2).txt')).body.toString(), 'another');
  });

  it('keeps every name in uploads, listings and downloads', async () => {
    for (const name of NAMES) {
      const parts = [
        { name: 'prefix', value: 'names/' },
        { name: 'file', filename: name, value: name },
      ];
      const response = await postForm(service.port, parts);
      assert.equal((jsonOf(response) as { path: string }).path, `names/${name}`);
      const fetched = await send(service.port, `/file/names/${escapePath(name)}`);
      assert.equal(fetched.body.toString(), name);
    }
    const { entries } = jsonOf(await send(service.port, '/names/')) as { entries: readonly { name: string }[] };
    assert.deepEqual(new Set(entries.map(({ name }) => name)), new Set(NAMES));
  });
});
