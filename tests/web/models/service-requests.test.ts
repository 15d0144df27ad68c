import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { requestOperation } from '../../../web/src/platform/service/operation-request.ts';
import { requestJson } from '../../../web/src/platform/service/request.ts';
import { isAbort, ServiceError, serviceErrorOf } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';

/** Starts a server that stops at the end of the test. Returns its URL. */
async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const ofStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};

describe('Requests of the web UI', () => {
  it('rejects with AbortError when it is aborted while the response arrives', async (t) => {
    const leaving = new AbortController();
    const url = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"success": true, "entries": [');
      setImmediate(() => leaving.abort());
    });
    await assert.rejects(requestJson(url, { signal: leaving.signal }), isAbort);
  });

  it('rejects with status 0 when the response is truncated', async (t) => {
    const url = await serve(t, (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"success": true,', () => request.socket.destroy());
    });
    await assert.rejects(requestJson(url), ofStatus(0, /^$/));
  });

  it('rejects with code, message and Retry-After of the service, and with the status of a proxy response', async (t) => {
    const url = await serve(t, ({ url: requested }, response) => {
      if (requested === '/ours') {
        response
          .writeHead(503, { 'retry-after': '7' })
          .end('{"success": false, "code": "unavailable", "error": "The disk is asleep."}');
      } else {
        response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      }
    });
    await assert.rejects(requestJson(`${url}ours`), (error: unknown) => {
      assert.ok(error instanceof ServiceError && error.retryAfter === 7 && error.code === 'unavailable');
      return ofStatus(503, /^The disk is asleep\.$/)(error);
    });
    await assert.rejects(requestJson(`${url}theirs`), ofStatus(502, /502/));
  });

  it('times out without new bytes, and never while bytes arrive', async (t) => {
    const timeoutMs = 1_000;
    const url = await serve(t, ({ url: requested }, response) => {
      if (requested === '/silent') return;
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"success": true,');
      if (requested === '/stuck') return;
      let chunks = 0;
      const timer = setInterval(() => {
        if (++chunks < 15) return void response.write(' ');
        clearInterval(timer);
        response.end('"entries": []}');
      }, 100);
    });
    const onProgress = () => {};
    const [slow] = await Promise.all([
      requestJson(`${url}slow`, { idleTimeout: timeoutMs }),
      assert.rejects(requestJson(`${url}silent`, { idleTimeout: timeoutMs }), ofStatus(0, /^$/)),
      assert.rejects(requestJson(`${url}stuck`, { idleTimeout: timeoutMs }), ofStatus(0, /^$/)),
      assert.rejects(requestOperation(`${url}silent`, { idleTimeout: timeoutMs, onProgress }), ofStatus(0, /^$/)),
    ]);
    assert.deepEqual(slow, { success: true, entries: [] });
  });

  it('distinguishes transient errors and unknown outcomes by status and code', () => {
    const transient = [0, 408, 429, 500, 502, 503, 504];
    const all = [...transient, 400, 404, 409, 412, 413, 501].toSorted((a, b) => a - b);
    assert.deepEqual(
      all.filter((status) => new ServiceError(status, '').isTransient),
      transient,
    );
    const transientCodes = [
      'store-busy',
      'overloaded',
      'database-unavailable',
      'internal-error',
      'outcome-unknown',
    ] as const;
    for (const code of transientCodes) assert.equal(refusal(code, '').isTransient, true, code);
    for (const code of ['store-full', 'store-misconfigured', 'wrong-secret-key', 'token-rejected'] as const) {
      assert.equal(refusal(code, '').isTransient, false, code);
    }
    assert.equal(serviceErrorOf(502, undefined, null).isOutcomeUnknown, true);
    assert.equal(refusal('unavailable', 'Busy.').isOutcomeUnknown, false);
    assert.equal(refusal('outcome-unknown', 'Check the branch.').isOutcomeUnknown, true);
    assert.equal(refusal('store-unreachable', 'The disk does not respond.').isOutcomeUnknown, true);
    assert.equal(serviceErrorOf(404, undefined, null).isOutcomeUnknown, false);
  });

  it('classifies an error by its code, or by its status without a code', () => {
    const proxy = (status: number) => serviceErrorOf(status, undefined, null);
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

  it('reports progress in any chunking, and fails without a final line', async (t) => {
    const lines = [
      '{"progress":{"done":1,"total":null,"bytes":5}}\n{"progress":{"done":2,',
      '"total":2,"bytes":9}}\n',
      '{"success":true,"message":"Größe","status":200}\n',
    ].join('');
    const url = await serve(t, ({ url: requested }, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      const bytes = Buffer.from(requested === '/whole' ? lines : lines.slice(0, 60));
      // Byte by byte, so that a character arrives in two chunks as well.
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    const reported: number[] = [];
    const onProgress = ({ bytes }: { bytes: number }) => void reported.push(bytes);
    const body = await requestOperation<{ message: string }>(`${url}whole`, { method: 'POST', onProgress });
    assert.equal(body.message, 'Größe');
    assert.deepEqual(reported, [5, 9]);
    await assert.rejects(requestOperation(`${url}half`, { method: 'POST', onProgress }), ofStatus(0, /^$/));
  });

  it('prefers a job for an operation, and does not lose its response when it is cancelled', async (t) => {
    const cancelling = new AbortController();
    const prefer: unknown[] = [];
    const url = await serve(t, ({ headers }, response) => {
      prefer.push(headers.prefer);
      cancelling.abort();
      response.writeHead(202, { 'content-type': 'application/json' }).end('{"success": true, "job": {"id": "1"}}');
    });
    const options = { method: 'POST', signal: cancelling.signal, onProgress() {} } as const;
    assert.deepEqual(await requestOperation(url, options), { success: true, job: { id: '1' } });
    await assert.rejects(requestOperation(url, options), isAbort);
    assert.deepEqual(prefer, ['respond-async, wait=2']);
  });

  it('cancels an operation that is no job by closing its stream of progress', async (t) => {
    for (const isEarly of [true, false]) {
      const cancelling = new AbortController();
      const closed = Promise.withResolvers<void>();
      const url = await serve(t, (_request, response) => {
        if (isEarly) cancelling.abort();
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.write('{"progress":{"done":1,"total":2,"bytes":5}}\n');
        response.once('close', closed.resolve);
      });
      const onProgress = () => cancelling.abort();
      await assert.rejects(requestOperation(url, { method: 'POST', signal: cancelling.signal, onProgress }), isAbort);
      await closed.promise;
    }
  });
});
