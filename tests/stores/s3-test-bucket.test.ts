import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';

it('The helper of tests empties buckets of stores that require Content-MD5 for DeleteObjects', async (t) => {
  const deletes: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const query = new URL(request.url ?? '', 'http://store').searchParams;
    const isDelete = request.method === 'POST' && query.has('delete');
    if (isDelete) deletes.push(body);
    const isRefused = isDelete && request.headers['content-md5'] !== hash('md5', body, 'base64');
    response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/xml' });
    const key = query.has('list-type') ? '<Contents><Key>a</Key></Contents>' : '';
    response.end(request.method === 'PUT' || request.method === 'DELETE' ? '' : `<Result>${key}</Result>`);
  };
  const server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1');
  atEnd(t, () => {
    server.close().closeAllConnections();
  });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', accessKeyId: 'a', secretAccessKey: 's' };
  await (await createBucket(store)).remove();
  assert.equal(deletes.length, 1);
});
