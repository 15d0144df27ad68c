import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import type { S3Options } from '../../src/stores/s3/bucket.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { file, folder } from '../contract/bytes.ts';

describe('An S3_ENDPOINT that is not an object store', () => {
  it('is reported as unreachable when the connection is refused', async (t) => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await assertUnavailable(t, `http://127.0.0.1:${port}`, /can't be reached\. Check S3_ENDPOINT/);
  });

  it('is reported when its host name does not resolve', async (t) => {
    await assertUnavailable(t, 'http://nobody.invalid', /has an unknown host name\. Check S3_ENDPOINT/);
  });

  it('is reported when it returns a web page', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><html><head><meta charset="utf-8"></head><body><p>Hello<br></body></html>');
    });
    await assertUnavailable(t, endpoint, /does not respond like an object store\. Check S3_ENDPOINT/, [
      'check',
      'list',
    ]);
  });

  it('is reported when it returns a web page for an upload', async (t) => {
    const endpoint = await serve(t, (request, response) => {
      request.resume().on('end', () => {
        const isInitiation = request.method === 'POST' && request.url?.includes('uploads');
        response.writeHead(200, { 'content-type': isInitiation ? 'application/xml' : 'text/html' });
        response.end(
          isInitiation
            ? '<InitiateMultipartUploadResult><UploadId>a</UploadId></InitiateMultipartUploadResult>'
            : '<html><body><p>Hello</p></body></html>',
        );
      });
    });
    const store = openS3({ ...OPTIONS, endpoint });
    t.after(() => store.close?.());
    const message = /does not respond like an object store\. Check S3_ENDPOINT/;
    for (const bytes of [Buffer.from('text'), Buffer.alloc(20 * 2 ** 20)]) {
      const body = Readable.from([bytes], { objectMode: false });
      await assert.rejects(store.write(file('a'), { body, type: 'a/b' }), (error) => isReported(error, message));
    }
  });

  it('is reported when it returns well-formed XHTML', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html><head><title>Hello</title></head><body><p>Hello</p></body></html>');
    });
    await assertUnavailable(t, endpoint, /does not respond like an object store\. Check S3_ENDPOINT/, [
      'check',
      'list',
    ]);
  });

  it('is reported when it returns 404 with an HTML body', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(404, { 'content-type': 'text/html' });
      response.end('<html><body><h1>404 Not Found</h1></body></html>');
    });
    await assertUnavailable(t, endpoint, /S3_ENDPOINT/, ['check', 'list']);
  });

  it('times out after four attempts when it accepts connections and never responds', async (t) => {
    let received = 0;
    const endpoint = await serve(t, () => void received++);
    const store = openS3({ ...OPTIONS, endpoint, timeoutMs: 100 });
    t.after(() => store.close?.());
    const message = /did not respond in time\. Check S3_ENDPOINT/;
    await assert.rejects(store.list(folder('')), (error) => isReported(error, message));
    assert.equal(received, 4);
  });

  it('is reported when it does not speak HTTP', async (t) => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    await assertUnavailable(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, /S3_ENDPOINT/);
  });
});

type Call = 'check' | 'list' | 'stat';

async function assertUnavailable(
  t: TestContext,
  endpoint: string,
  message: RegExp,
  names: readonly Call[] = ['check', 'list', 'stat'],
): Promise<void> {
  const store = openS3({ ...OPTIONS, endpoint });
  t.after(() => store.close?.());
  const calls = {
    check: async () => store.check?.(),
    list: () => store.list(folder('')),
    stat: () => store.stat(file('a')),
  };
  for (const name of names) await assert.rejects(calls[name](), (error) => isReported(error, message), name);
}

/** Returns true for an unavailable error with this message. Fails if the message contains a credential. */
function isReported(error: unknown, message: RegExp): boolean {
  assert.ok(isStoreError(error, 'unavailable'), String(error));
  assert.match(error.message, message);
  const secrets = [CREDENTIALS.accessKeyId, CREDENTIALS.secretAccessKey];
  assert.ok(!secrets.some((secret) => error.message.includes(secret)));
  return true;
}

const CREDENTIALS = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};

const OPTIONS: S3Options = {
  bucket: 'bucket',
  endpoint: undefined,
  region: 'us-east-1',
  credentials: CREDENTIALS,
  addressing: 'path',
  publicUrl: undefined,
  concurrency: 4,
  warn: () => {},
};

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
