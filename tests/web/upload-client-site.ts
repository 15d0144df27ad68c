import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';

/** Bundles the page of the clients, serves it on an origin of its own, and returns that. */
export async function serveClientPage(owner: Owner): Promise<string> {
  const outDir = await temporaryFolder(owner);
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
    return response.end(
      '<!doctype html><link rel="icon" href="data:,"><input type="file"><script type="module" src="page.js"></script>',
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(owner, async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
