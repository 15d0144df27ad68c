import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { memory } from '../contract/backend.ts';
import { jsonOf, postJson, send } from './client.ts';
import { type ServiceOptions, startService } from './service.ts';

async function start(t: TestContext, options: ServiceOptions): Promise<number> {
  const service = await startService(memory, options);
  t.after(() => service.stop());
  return service.port;
}

describe('The description of the HTTP API', () => {
  it('is served with a Permissions-Policy', async (t) => {
    const port = await start(t, {});
    const { status, headers } = await send(port, '/-/docs/');
    assert.equal(status, 200);
    assert.match(String(headers['permissions-policy']), /(^|, )camera=\(\)(, |$)/);
  });

  it('causes no request for an icon, which does not exist', async (t) => {
    const port = await start(t, {});
    for (const path of ['/-/docs', '/-/docs/']) {
      assert.match((await send(port, path)).body.toString(), /<link rel="icon" href="data:,">/);
    }
  });

  it('returns 404 on every path and method if it is disabled', async (t) => {
    const port = await start(t, { apiDocs: false });
    for (const path of ['/-/docs', '/-/docs/', '/-/docs/static/index.html', '/-/docs/json', '/-/openapi.json']) {
      for (const method of ['GET', 'HEAD', 'POST']) {
        assert.equal((await send(port, path, { method })).status, 404, `${method} ${path}`);
      }
    }
  });
});

describe('/.well-known/security.txt', () => {
  const security = { contact: 'mailto:security@example.org', expires: new Date('2027-06-30T00:00:00Z') };

  it('returns the contact in the format of RFC 9116', async (t) => {
    const port = await start(t, { security, publicUrl: 'https://files.example.org/below' });
    const { status, headers, body } = await send(port, '/.well-known/security.txt');
    assert.equal(status, 200);
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal(
      body.toString(),
      'Contact: mailto:security@example.org\nExpires: 2027-06-30T00:00:00.000Z\nCanonical: https://files.example.org/.well-known/security.txt\n',
    );
  });

  it('hides no other path, and its folder is available with ?prefix=', async (t) => {
    const port = await start(t, { security });
    await postJson(port, '/create_folder', { path: '.well-known/security.txt/x' });
    const names = async (path: string) =>
      (jsonOf(await send(port, path)) as { entries: { name: string }[] }).entries.map(({ name }) => name);
    assert.deepEqual(await names('/.well-known'), ['security.txt']);
    assert.deepEqual(await names('/?prefix=.well-known/security.txt'), ['x']);
    const { headers } = await send(port, '/.well-known/security.txt', { method: 'POST' });
    assert.equal(headers['allow'], 'GET, HEAD');
  });

  it('is a folder path if no contact is set', async (t) => {
    const port = await start(t, {});
    assert.equal((await send(port, '/.well-known/security.txt')).status, 404);
    await postJson(port, '/create_folder', { path: '.well-known/security.txt' });
    assert.equal((await send(port, '/.well-known/security.txt')).status, 200);
  });
});
