import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { connect, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { RequestBody } from '../../src/http/uploads/requests.ts';
import { atEnd } from '../../testing/holdall.ts';
import { EVERYONE, type GuardedService, grant, startGuardedService } from '../access/guarded-service.ts';
import { disk } from '../contract/backend.ts';
import { BOUNDARY, send, within } from '../http/client.ts';

/** More than the buffers of both ends of a connection hold, so that the client is still sending when it is refused. */
const BODY = Buffer.alloc(12 * 1024 * 1024, 'x');

const FORM = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="new"\r\n\r\n`;
const TUS = 'Tus-Resumable: 1.0.0\r\nContent-Type: application/offset+octet-stream\r\n';
const MULTIPART = `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`;

type Refused = readonly [status: number, line: string, headers?: string, start?: string];

/** Requests whose body is refused. `start` is the start of the body. */
const REFUSED: readonly Refused[] = [
  [401, 'PUT /file/closed/new'],
  [
    401,
    'POST /upload',
    MULTIPART,
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="prefix"\r\n\r\nclosed/\r\n${FORM}`,
  ],
  [413, 'PUT /file/new'],
  [413, 'POST /upload', MULTIPART, FORM],
  [412, 'PUT /file/taken', 'If-None-Match: *\r\n'],
  [409, 'PUT /file/taken/below'],
  [400, 'PUT /file/a//b'],
  [400, 'PUT /file/new', 'Content-Range: bytes 0-1/2\r\n'],
  [404, 'PATCH /-/uploads/00000000-0000-0000-0000-000000000000', `${TUS}Upload-Offset: 0\r\n`],
  [413, 'POST /-/uploads', `${TUS}Upload-Length: ${BODY.length}\r\nUpload-Metadata: path bmV3\r\n`],
  [401, 'PUT /-/dav/closed/new'],
  [413, 'PUT /-/dav/new'],
  [412, 'PUT /-/dav/taken', 'If-None-Match: *\r\n'],
  [409, 'PUT /-/dav/missing/new'],
  [413, 'PROPFIND /-/dav/', 'Depth: 1\r\nContent-Type: application/xml\r\n'],
  [413, 'LOCK /-/dav/new', 'Content-Type: application/xml\r\n'],
  [413, 'POST /create_folder', 'Content-Type: application/json\r\n'],
  [400, 'POST /create_folder', 'Content-Type: text/plain\r\n'],
  [415, 'PUT /file/new', 'Content-Encoding: gzip\r\n'],
  [404, 'POST /-/nothing'],
  [405, 'PUT /-/health/ready'],
  [417, 'PUT /file/new', 'Expect: nothing\r\n'],
];

/** The requests that are also sent by HTTP/1.1: one for each way in which a body is read, and one that nothing reads. */
const OTHER_CONNECTIONS: readonly string[] = ['PUT /-/dav/new', 'POST /create_folder', 'POST /-/nothing'];

describe('A client that sends all of a refused body before it reads', () => {
  let service: GuardedService;
  before(async () => {
    service = await startRefusing();
  });
  after(() => service.stop());

  const testRefusal = ([status, line, headers = '', start = '']: Refused, version: string, connection: string) => {
    it(`receives ${status} for ${line} ${headers.split(':')[0]} (HTTP/${version}, ${connection.trim() || 'default'})`, async () => {
      const framing = `Host: localhost\r\nContent-Length: ${start.length + BODY.length}\r\n`;
      const head = `${line} HTTP/${version}\r\n${framing}${connection}${headers}\r\n${start}`;
      const response = await within('the response', sendBeforeReading(service.port, head, BODY));
      assert.match(response, new RegExp(`^HTTP/1\\.1 ${status} `), response);
    });
  };

  for (const refused of REFUSED) {
    const [status, line] = refused;
    // A response to HTTP/1.0 closes the connection. It has no expectations (RFC 9110, section 10.1.1).
    testRefusal(refused, status === 417 ? '1.1' : '1.0', '');
    if (!OTHER_CONNECTIONS.includes(line)) continue;
    for (const connection of ['Connection: close\r\n', '']) testRefusal(refused, '1.1', connection);
  }
});

describe('Requests that follow on a connection that a response ends', () => {
  let service: GuardedService;
  before(async () => {
    service = await startRefusing();
  });
  after(() => service.stop());

  const HOST = 'Host: localhost\r\n';
  const upload = `PUT /file/taken HTTP/1.1\r\n${HOST}Content-Length: 10\r\n\r\n`;
  for (const [name, first] of [
    ['two hosts', `GET / HTTP/1.1\r\n${HOST}Host: other\r\n\r\n`],
    ['two hosts and a body', `PUT /file/new HTTP/1.1\r\n${HOST}Host: other\r\nContent-Length: 2\r\n\r\nab`],
    ['an unknown expectation', `GET / HTTP/1.1\r\n${HOST}Expect: nothing\r\n\r\n`],
  ] as const) {
    it(`change nothing after a request with ${name}, whole or in parts`, async () => {
      await exchangeParts(service.port, [`${first}${upload}0123`, '456789']);
      await exchangeParts(service.port, [`${first}${upload}0123456789`]);
      await exchangeParts(service.port, [first.slice(0, -1), `${first.slice(-1)}${upload}0123456789`]);
      assert.equal((await send(service.port, '/file/taken')).body.toString(), 'taken');
    });
  }
});

it('A compressed body is refused, also if its Transfer-Encoding says so', async (t) => {
  const service = await startRefusing();
  atEnd(t, () => service.stop());
  for (const coding of ['gzip, chunked', 'x, chunked']) {
    const head = `PUT /file/coded HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: ${coding}\r\n\r\n`;
    assert.match(await sendBeforeReading(service.port, head, Buffer.from('1\r\na\r\n0\r\n\r\n')), /^HTTP\/1\.1 415 /);
  }
  assert.equal((await send(service.port, '/file/coded')).status, 404);
});

it('A body that was read before is not stored without its start', async () => {
  const request = new IncomingMessage(new Socket());
  request.push('start');
  request.resume();
  await once(request, 'data');
  assert.ok(new RequestBody(request).destroyed);
});

it('An upload that nothing reads does not end the process when its client leaves', async () => {
  const request = new IncomingMessage(new Socket());
  const body = new RequestBody(request);
  request.emit('aborted');
  await new Promise<void>((resolve) => body.once('close', resolve));
  assert.ok(body.errored);
});

/** Starts a service that refuses uploads of more than 1 KiB, and all uploads to \`closed/\`. */
async function startRefusing(): Promise<GuardedService> {
  const service = await startGuardedService(disk, { hasJobs: true, maxUploadSize: 1024 });
  service.grant(grant('', ['read', 'write', 'manage'], EVERYONE), grant('closed/', [], EVERYONE));
  await service.plant({ taken: 'taken' });
  return service;
}

/** Sends each part when the service has read the one before, and waits for the end of the connection. */
async function exchangeParts(port: number, parts: readonly string[]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  const closed = once(socket.resume(), 'close');
  for (const part of parts) {
    socket.write(part);
    await send(port, '/file/taken');
  }
  socket.end();
  await within('the end of the connection', closed);
}

/** Sends a request, and returns the start of the response. Reads nothing until everything is sent. */
async function sendBeforeReading(port: number, head: string, body: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    socket.on('error', () => {});
    socket.pause();
    socket.write(head);
    await new Promise<void>((resolve, reject) => {
      socket.write(body, (error) => (error ? reject(error) : resolve()));
    });
    const [first = assert.fail('The response is lost.')] = (await Promise.race([
      once(socket.resume(), 'data'),
      once(socket, 'close').then(() => []),
    ])) as [Buffer?];
    return first.toString();
  } finally {
    socket.destroy();
  }
}
