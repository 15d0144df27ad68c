import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isStoreError } from '../../src/domain/error.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import type { S3Options } from '../../src/stores/s3/settings.ts';
import { file, folder } from '../contract/bytes.ts';

describe('An endpoint that is no object store', () => {
  it('a port that nothing listens on', async (t) => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await assertUnavailable(t, `http://127.0.0.1:${port}`, /can't be reached: look at S3_ENDPOINT/);
  });

  it('a name that nobody knows', async (t) => {
    await assertUnavailable(t, 'http://nobody.invalid', /has a name that nobody knows: look at S3_ENDPOINT/);
  });

  it('a web page', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<!doctype html><html><head><meta charset="utf-8"></head><body><p>Hello<br></body></html>');
    });
    await assertUnavailable(t, endpoint, /does not answer as an object store does: look at S3_ENDPOINT/, [
      'check',
      'list',
    ]);
  });

  it('a web page in place of the response to an upload', async (t) => {
    const endpoint = await serve(t, (request, response) => {
      request.resume().on('end', () => {
        const isBegun = request.method === 'POST' && request.url?.includes('uploads');
        response.writeHead(200, { 'content-type': isBegun ? 'application/xml' : 'text/html' });
        response.end(
          isBegun
            ? '<InitiateMultipartUploadResult><UploadId>a</UploadId></InitiateMultipartUploadResult>'
            : '<html><body><p>Hello</p></body></html>',
        );
      });
    });
    const store = openS3({ ...NOWHERE, endpoint });
    t.after(() => store.close?.());
    const message = /does not answer as an object store does: look at S3_ENDPOINT/;
    for (const bytes of [Buffer.from('text'), Buffer.alloc(20 * 2 ** 20)]) {
      const body = Readable.from([bytes], { objectMode: false });
      await assert.rejects(store.write(file('a'), { body, type: 'a/b' }), (error) => isTold(error, message));
    }
  });

  it('a page of XHTML, which is XML', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html><head><title>Hello</title></head><body><p>Hello</p></body></html>');
    });
    await assertUnavailable(t, endpoint, /does not answer as an object store does: look at S3_ENDPOINT/, [
      'check',
      'list',
    ]);
  });

  it('a web server that knows no such page', async (t) => {
    const endpoint = await serve(t, (_request, response) => {
      response.writeHead(404, { 'content-type': 'text/html' });
      response.end('<html><body><h1>404 Not Found</h1></body></html>');
    });
    await assertUnavailable(t, endpoint, /S3_ENDPOINT/, ['check', 'list']);
  });

  it('one that takes connections and never answers', async (t) => {
    let asked = 0;
    const endpoint = await serve(t, () => void asked++);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const store = openS3({ ...NOWHERE, endpoint });
    let isSettled = false;
    const message = /did not answer in time: look at S3_ENDPOINT/;
    const told = assert
      .rejects(store.list(folder('')), (error) => isTold(error, message))
      .finally(() => {
        isSettled = true;
      });
    let seen = 0;
    for (let turn = 0; !isSettled; turn++) {
      assert.ok(turn < 5000, 'It ends.');
      // A request that has come gets all its time at once; the pauses before the next one are short.
      t.mock.timers.tick(asked > seen ? 20_000 : 10);
      seen = asked;
      await setImmediate();
    }
    await told;
    await store.close?.();
    assert.equal(asked, 4);
  });

  it('something that does not speak HTTP', async (t) => {
    const server = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    await assertUnavailable(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}`, /S3_ENDPOINT/);
  });
});

type Look = 'check' | 'list' | 'stat';

async function assertUnavailable(
  t: TestContext,
  endpoint: string,
  message: RegExp,
  looks: readonly Look[] = ['check', 'list', 'stat'],
): Promise<void> {
  const store = openS3({ ...NOWHERE, endpoint });
  t.after(() => store.close?.());
  const calls = {
    check: async () => store.check?.(),
    list: () => store.list(folder('')),
    stat: () => store.stat(file('a')),
  };
  for (const look of looks) await assert.rejects(calls[look](), (error) => isTold(error, message), look);
}

/** Whether an error says this on purpose, and no secret. */
function isTold(error: unknown, message: RegExp): boolean {
  assert.ok(isStoreError(error, 'unavailable'), String(error));
  assert.match(error.message, message);
  const secrets = [NOWHERE.accessKeyId, NOWHERE.secretAccessKey];
  assert.ok(!secrets.some((secret) => error.message.includes(secret)));
  return true;
}

const NOWHERE: S3Options = {
  bucket: 'bucket',
  endpoint: undefined,
  region: 'us-east-1',
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  addressing: 'path',
  publicUrl: undefined,
  concurrency: 4,
  warn: () => {},
};

async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
