import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { timedFetch } from '../../src/stores/github/host/fetch.ts';

it('returns the whole body when the response object is garbage-collected before the body is read', async (t) => {
  const bytes = randomBytes(3 * 1024 * 1024);
  const body = await bodyOf(await serve(t, bytes));
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let round = 0; round < 10; round++) {
    collect();
    await setImmediate();
  }
  assert.ok(body);
  assert.ok((await buffer(body)).equals(bytes));
});

/** In a function of its own, so that nothing except the body keeps the response alive. */
async function bodyOf(url: string) {
  const { body } = await timedFetch({ timeout: 10_000, streamsBody: true })(url);
  return body;
}

async function serve(t: TestContext, bytes: Buffer): Promise<string> {
  const server = createServer((_request, response) => response.end(bytes)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
