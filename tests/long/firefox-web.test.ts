/*
 * The web UI in Firefox: the ordinary tests use Chromium. Firefox takes longer to install and to start
 * than all journeys in Chromium.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import { it, type TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { launchFirefox } from '../../testing/servers/firefox.ts';
import type { Need } from '../runner/needs.ts';
import { useEngine } from '../web/other-engines.ts';

export const needs: readonly Need[] = ['firefox'];

it('The web UI works in Firefox', (t) => useEngine(t, launchFirefox));

it('Requests that are aborted while their body is read cause no uncaught error in Firefox', async (t) => {
  const url = await serveModules(t);
  const engine = await launchFirefox();
  atEnd(t, () => engine[Symbol.asyncDispose]());
  await engine.open(url);
  const errors = await engine.evaluate(`(async () => {
    const { requestJson } = await import('/web/src/platform/service/request.ts');
    const attempt = async () => {
      const aborting = new AbortController();
      const result = requestJson('/endless', { signal: aborting.signal });
      // By its response, the body of the first request has begun.
      await fetch('/');
      aborting.abort();
      return result.catch((error) => error.name);
    };
    const errors = [];
    for (let count = 0; count < 20; count++) errors.push(await attempt());
    return errors;
  })()`);
  assert.deepEqual(
    errors,
    Array.from({ length: 20 }, () => 'AbortError'),
  );
  await engine.open(`${url}end`);
  assert.deepEqual(engine.errors, []);
});

const ROOT = new URL('../../', import.meta.url);

/** Serves a page, the modules of the web UI without their types, and a body that never ends. Returns the URL of the page. */
async function serveModules(t: TestContext): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    if (url.endsWith('.ts')) {
      const source = readFileSync(new URL(`.${url}`, ROOT), 'utf8');
      response.setHeader('content-type', 'text/javascript').end(stripTypeScriptTypes(source));
    } else if (url === '/endless') {
      response.setHeader('content-type', 'application/json').write(`{"text":"${'x'.repeat(20_000)}`);
    } else {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Test</title>');
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}/`;
}
