import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ask, askWithProgress } from '../../../web/src/platform/service/ask.ts';
import { failureOf, isAbort, ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';

/** The address of a server that ends with the test. */
async function serve(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const ofStatus = (status: number, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, words);
  return true;
};

describe('What the page asks the service', () => {
  it('is of no interest any more once it is given up, even in the middle of the answer', async (t) => {
    const leaving = new AbortController();
    const url = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"success": true, "entries": [');
      setImmediate(() => leaving.abort());
    });
    await assert.rejects(ask(url, { signal: leaving.signal }), isAbort);
  });

  it('was not answered where the answer is cut off', async (t) => {
    const url = await serve(t, (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"success": true,', () => request.socket.destroy());
    });
    await assert.rejects(ask(url), ofStatus(0, /^$/));
  });

  it('is refused in the words of the envelope, and by the status of an answer that has none', async (t) => {
    const url = await serve(t, ({ url: requested }, response) => {
      if (requested === '/ours') {
        response
          .writeHead(503, { 'retry-after': '7' })
          .end('{"success": false, "code": "unavailable", "error": "The disk is asleep."}');
      } else {
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      }
    });
    await assert.rejects(ask(`${url}ours`), (error: unknown) => {
      assert.ok(error instanceof ServiceError && error.retryAfter === 7 && error.code === 'unavailable');
      return ofStatus(503, /^The disk is asleep\.$/)(error);
    });
    await assert.rejects(ask(`${url}theirs`), ofStatus(502, /502/));
  });

  it('is given up where it stands still, and never while it goes on', async (t) => {
    const timeoutMs = 1_000;
    const url = await serve(t, ({ url: requested }, response) => {
      if (requested === '/silent') return;
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"success": true,');
      if (requested === '/stuck') return;
      let chunks = 0;
      const dripping = setInterval(() => {
        if (++chunks < 15) return void response.write(' ');
        clearInterval(dripping);
        response.end('"entries": []}');
      }, 100);
    });
    const onProgress = () => {};
    const [slow] = await Promise.all([
      ask(`${url}slow`, { patience: timeoutMs }),
      assert.rejects(ask(`${url}silent`, { patience: timeoutMs }), ofStatus(0, /^$/)),
      assert.rejects(ask(`${url}stuck`, { patience: timeoutMs }), ofStatus(0, /^$/)),
      assert.rejects(askWithProgress(`${url}silent`, { patience: timeoutMs, onProgress }), ofStatus(0, /^$/)),
    ]);
    assert.deepEqual(slow, { success: true, entries: [] });
  });

  it('may pass where nothing, a busy service or a proxy answers, and may be done where the service does not', () => {
    const passing = [0, 408, 429, 500, 502, 503, 504];
    const all = [...passing, 400, 404, 409, 412, 413, 501].toSorted((a, b) => a - b);
    assert.deepEqual(
      all.filter((status) => new ServiceError(status, '').isPassing),
      passing,
    );
    assert.equal(failureOf(502, undefined, null).isLost, true);
    assert.equal(refusal('unavailable', 'Busy.').isLost, false);
    assert.equal(refusal('outcome-unknown', 'Check the branch.').isLost, true);
    assert.equal(refusal('store-unreachable', 'The disk does not respond.').isLost, true);
    assert.equal(failureOf(404, undefined, null).isLost, false);
  });

  it('is judged by the code of the service, and by the status of an answer without one', () => {
    const proxy = (status: number) => failureOf(status, undefined, null);
    assert.equal(refusal('not-found', '').isNotFound, true);
    assert.equal(refusal('unknown-route', '').isNotFound, false);
    assert.equal(proxy(404).isNotFound, true);
    assert.equal(refusal('session-ended', '').isSignInRequired, true);
    assert.equal(refusal('invalid-token', '').isSignInRequired, false);
    assert.equal(proxy(401).isSignInRequired, true);
    assert.equal(refusal('permission-denied', '').isPermissionDenied, true);
    assert.equal(refusal('cross-site-request', '').isPermissionDenied, false);
    assert.equal(proxy(403).isPermissionDenied, true);
    assert.equal(refusal('name-taken', '').isNameTaken, true);
    assert.equal(refusal('file-changed', '').isNameTaken, false);
    assert.equal(proxy(412).isNameTaken, true);
    assert.equal(refusal('rate-limited', '').isBusy, true);
    assert.equal(refusal('bucket-not-found', '').isBusy, false);
    assert.deepEqual([proxy(429).isBusy, proxy(503).isBusy, proxy(500).isBusy], [true, true, false]);
  });

  it('tells its progress, whatever the pieces in which it comes, and is not done before it says so', async (t) => {
    const lines = [
      '{"progress":{"done":1,"total":null,"bytes":5}}\n{"progress":{"done":2,',
      '"total":2,"bytes":9}}\n',
      '{"success":true,"message":"Größe","status":200}\n',
    ].join('');
    const url = await serve(t, ({ url: requested }, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      const bytes = Buffer.from(requested === '/whole' ? lines : lines.slice(0, 60));
      // Byte by byte, so that a character comes in two pieces as well.
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    const told: number[] = [];
    const onProgress = ({ bytes }: { bytes: number }) => void told.push(bytes);
    const answer = await askWithProgress<{ message: string }>(`${url}whole`, { method: 'POST', onProgress });
    assert.equal(answer.message, 'Größe');
    assert.deepEqual(told, [5, 9]);
    await assert.rejects(askWithProgress(`${url}half`, { method: 'POST', onProgress }), ofStatus(0, /^$/));
  });
});
