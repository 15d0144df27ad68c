import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Content } from '../../testing/servers/github.ts';
import { type Served, serveRepository } from '../../testing/servers/github-costs.ts';
import { type HttpResponse, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { MIB } from './github-reading.ts';

export const needs: readonly Need[] = ['git'];

const LARGE = randomBytes(6 * MIB);
const JUST_BELOW = LARGE.subarray(1);

async function serve(t: TestContext, files: Readonly<Record<string, Content>>): Promise<Served> {
  const served = await serveRepository(files);
  t.after(served.stop);
  return served;
}

/** Follows a redirect with only its URL. */
async function follow({ headers }: HttpResponse): Promise<HttpResponse> {
  const { port, pathname, search, host } = new URL(headers.location ?? '');
  return send(Number(port), pathname + search, { headers: { host } });
}

const tokenIn = ({ headers }: HttpResponse) => new URL(headers.location ?? '').searchParams.get('token');

describe('A file of 6 MB or more', () => {
  it('redirects to a new URL of the host for each request', async (t) => {
    const { port, host } = await serve(t, { 'folder with space/ä & %.bin': LARGE });
    const path = `/file/${encodeURIComponent('folder with space')}/${encodeURIComponent('ä & %.bin')}`;
    const responses = [await send(port, path), await send(port, path), await send(port, `${path}?download=1`)];
    for (const response of responses) {
      assert.equal(response.status, 302);
      const found = await follow(response);
      assert.equal(found.status, 200);
      assert.ok(found.body.equals(LARGE));
    }
    assert.equal(new Set(responses.map(tokenIn)).size, responses.length);
    assert.equal(host.downloadRequests.length, responses.length);
    for (const { headers } of host.downloadRequests) assert.equal(headers.authorization, undefined);
    // Each URL works once.
    const [first] = responses;
    assert.ok(first);
    assert.equal((await follow(first)).status, 404);
  });

  it('downloads the version at the time of the redirect, also after later commits', async (t) => {
    const { port, repository } = await serve(t, { a: LARGE });
    const response = await send(port, '/file/a');
    await repository.commit({ a: null });
    assert.ok((await follow(response)).body.equals(LARGE));
  });

  it('is not read by the service, also for ranges and HEAD', async (t) => {
    const { port, host } = await serve(t, { a: LARGE });
    for (const [method, headers] of [
      ['GET', { range: 'bytes=0-1' }],
      ['GET', { range: `bytes=${LARGE.length}-` }],
      ['HEAD', {}],
    ] as const) {
      assert.equal((await send(port, '/file/a', { method, headers })).status, 302, method);
    }
    assert.ok(host.requests.every(({ route }) => !route.endsWith('/git/blobs/{file_sha}')));
    assert.deepEqual(host.downloadRequests, []);
  });

  it('fails as too large when the host returns no URL', async (t) => {
    const { port, host } = await serve(t, { a: LARGE, b: JUST_BELOW });
    host.features.downloads = false;
    const { status, body } = await send(port, '/file/a');
    assert.equal(status, 413);
    assert.match(body.toString(), /\ba\b.*6291456.*no download URL/);
    assert.equal((await send(port, '/file/b')).status, 200);
  });

  it('is a transient error while the host fails to return a URL', async (t) => {
    const { port, host } = await serve(t, { a: LARGE });
    host.intercept(({ route }) => (route.includes('/contents/') ? { status: 503 } : undefined));
    const failed = await send(port, '/file/a');
    assert.equal(failed.status, 503);
    assert.ok(Number(failed.headers['retry-after']) > 0);
    host.intercept(undefined);
    assert.equal((await send(port, '/file/a')).status, 302);
  });
});

describe('A file just below 6 MB', () => {
  it('is returned directly, also in ranges', async (t) => {
    const { port, host } = await serve(t, { a: JUST_BELOW });
    const whole = await send(port, '/file/a');
    assert.equal(whole.status, 200);
    assert.ok(whole.body.equals(JUST_BELOW));
    const part = await send(port, '/file/a', { headers: { range: 'bytes=1000000-' } });
    assert.equal(part.status, 206);
    assert.ok(part.body.equals(JUST_BELOW.subarray(1_000_000)));
    assert.deepEqual(host.downloadRequests, []);
  });
});
