import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { atEnd, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startConnectionCutter } from '../../testing/servers/connection-cutter.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import type { ClientPage } from './upload-client-page.ts';

export const needs: readonly Need[] = ['browser'];

const MIB = 2 ** 20;

it('tus-js-client and Uppy upload from a page of another origin, also after a broken connection', async (t) => {
  const origin = await serveClientPage(t);
  const { port, root } = await startHoldall(t, { settings: { CORS_ORIGINS: origin, ACCESS: 'open' } });
  const cutter = await startConnectionCutter(t, port);
  const service = `http://127.0.0.1:${cutter.port}`;
  const page = await openPage(t, {
    url: origin,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    allowedOrigins: [service],
    // The browser itself repeats a request on a broken connection that it reused.
    expectedErrors: [/ERR_CONNECTION_RESET|409 \(Conflict\)/],
  });
  for (const [client, path] of [
    ['tus-js-client', 'from a page/photo é.bin'],
    ['Uppy', 'photo é.bin'],
  ] as const) {
    cutter.cutAfter(1.5 * MIB);
    const methods: string[] = [];
    page.on('request', (request) => methods.push(request.method()));
    await page.evaluate(
      async ([name, endpoint, size]) => {
        const bytes = Uint8Array.from({ length: size }, (_, index) => (index * 7919) >> 3);
        const { page: clients } = window as unknown as { page: ClientPage };
        await clients.upload(name, endpoint, new File([bytes], 'photo é.bin'), 2 ** 20);
      },
      [client, `${service}/-/uploads`, 3 * MIB] as const,
    );
    assert.ok(methods.includes('HEAD'), 'it asked for the offset after the broken connection');
    const expected = Buffer.from(Uint8Array.from({ length: 3 * MIB }, (_, index) => (index * 7919) >> 3));
    assert.ok((await readFile(join(root, path))).equals(expected), client);
  }
});

/** Bundles the page of the clients, serves it on an origin of its own, and returns that. */
async function serveClientPage(t: TestContext): Promise<string> {
  const outDir = await temporaryFolder(t);
  const input = fileURLToPath(new URL('upload-client-page.ts', import.meta.url));
  await build({
    configFile: false,
    logLevel: 'error',
    publicDir: false,
    build: { outDir, minify: false, rolldownOptions: { input, output: { entryFileNames: 'page.js' } } },
  });
  const script = await readFile(join(outDir, 'page.js'));
  const server = createServer((request, response) => {
    if (request.url === '/page.js') return response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    response.writeHead(200, { 'content-type': 'text/html' });
    return response.end('<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(t, async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
