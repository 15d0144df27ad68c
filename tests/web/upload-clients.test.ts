import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { startConnectionCutter } from '../../testing/servers/connection-cutter.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import type { ClientPage } from './upload-client-page.ts';
import { serveClientPage } from './upload-client-site.ts';

export const needs: readonly Need[] = ['browser'];

const MIB = 2 ** 20;

it(
  'tus-js-client and Uppy upload from a page of another origin, also after a broken connection',
  IN_FULL_FORM_ONLY,
  async (t) => {
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
    for (const [client, given, path] of [
      ['tus-js-client', { filename: 'photo é.bin', prefix: 'from a page/' }, 'from a page/photo é.bin'],
      // Uppy itself adds the name of the file.
      ['Uppy', { prefix: 'uppy/' }, 'uppy/photo é.bin'],
    ] as const) {
      // The browser repeats a part of which the service has nothing, and the client notices no broken connection.
      cutter.cutAfter(1.5 * MIB, async () => (await bytesOfUnfinished(root)) > MIB);
      const methods: string[] = [];
      page.on('request', (request) => methods.push(request.method()));
      await page.evaluate(
        async ([name, endpoint, metadata, size]) => {
          const bytes = Uint8Array.from({ length: size }, (_, index) => (index * 7919) >> 3);
          const { page: clients } = window as unknown as { page: ClientPage };
          const file = new File([bytes], 'photo é.bin');
          await clients.upload({ client: name, endpoint, file, metadata, chunkSize: 2 ** 20 });
        },
        [client, `${service}/-/uploads`, { ...given }, 3 * MIB] as const,
      );
      assert.ok(methods.includes('HEAD'), 'it asked for the offset after the broken connection');
      const expected = Buffer.from(Uint8Array.from({ length: 3 * MIB }, (_, index) => (index * 7919) >> 3));
      assert.ok((await readFile(join(root, path))).equals(expected), client);
    }
  },
);

/** Returns the number of bytes that the service has of unfinished uploads. */
async function bytesOfUnfinished(root: string): Promise<number> {
  const folder = join(root, '.holdall/uploads');
  const found = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name))));
  return found.reduce((sum, { size }) => sum + size, 0);
}
