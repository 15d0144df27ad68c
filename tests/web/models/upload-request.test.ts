import assert from 'node:assert/strict';
import { beforeEach, describe, it, type TestContext } from 'node:test';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { sendUpload } from '../../../web/src/platform/service/upload.ts';

/** An XMLHttpRequest whose events the test dispatches. */
class FakeRequest extends EventTarget {
  static latest: FakeRequest | undefined;
  readonly upload = new EventTarget();
  status = 0;
  response: unknown = null;
  body: unknown;
  isAborted = false;

  constructor() {
    super();
    FakeRequest.latest = this;
  }
  open() {}
  setRequestHeader() {}
  getResponseHeader() {
    return null;
  }
  send(body: unknown) {
    this.body = body;
  }
  abort() {
    this.isAborted = true;
    this.dispatchEvent(new Event('abort'));
  }
  respond(status: number, response: unknown) {
    Object.assign(this, { status, response });
    this.dispatchEvent(new Event('load'));
    this.dispatchEvent(new Event('loadend'));
  }
  progress(loaded: number, total: number) {
    this.upload.dispatchEvent(Object.assign(new Event('progress'), { loaded, total }));
  }
}

/** Begins an upload. `outcome` resolves to the path in the response, or to the error. */
function begin(signal = new AbortController().signal, lastModified = 0, more: { readonly sender?: string } = {}) {
  const file = new File(['abcd'], 'original.txt', { lastModified });
  const upload = { file, folder: 'box/', name: 'a', replace: false, signal, onProgress() {}, ...more };
  const outcome = sendUpload('/upload', upload).then(
    ({ path }) => path,
    (error: unknown) => error,
  );
  const request = FakeRequest.latest;
  assert.ok(request);
  return { request, outcome };
}

const statusOf = (error: unknown) => (error instanceof ServiceError ? error.status : undefined);

describe('The request of an upload', () => {
  beforeEach((t) => {
    const { XMLHttpRequest: real } = globalThis as { XMLHttpRequest?: unknown };
    Object.assign(globalThis, { XMLHttpRequest: FakeRequest });
    (t as TestContext).after(() => Object.assign(globalThis, { XMLHttpRequest: real }));
  });

  it('sends the folder and the modification time before the file', async () => {
    const { request, outcome } = begin(undefined, Date.UTC(2019, 6, 20, 12, 30, 15, 250));
    assert.ok(request.body instanceof FormData);
    assert.deepEqual([...request.body.keys()], ['prefix', 'modified', 'file']);
    assert.equal(request.body.get('prefix'), 'box/');
    assert.equal(request.body.get('modified'), '2019-07-20T12:30:15.250Z');
    const file = request.body.get('file');
    assert.equal(file instanceof File && file.name, 'a');
    request.respond(200, { path: 'a' });
    await outcome;
  });

  it('sends the name of the sender before the file, if there is one', async () => {
    const { request, outcome } = begin(undefined, undefined, { sender: 'Ann' });
    assert.ok(request.body instanceof FormData);
    assert.deepEqual([...request.body.keys()], ['prefix', 'sender', 'modified', 'file']);
    assert.equal(request.body.get('sender'), 'Ann');
    request.respond(200, { path: 'a' });
    await outcome;
  });

  it('omits a modification time outside the range of dates', async () => {
    const { request, outcome } = begin(undefined, 9e15);
    assert.ok(request.body instanceof FormData);
    assert.deepEqual([...request.body.keys()], ['prefix', 'file']);
    request.respond(200, { path: 'a' });
    await outcome;
  });

  it('returns the path in the response', async () => {
    const { request, outcome } = begin();
    request.respond(200, { success: true, path: 'a' });
    assert.equal(await outcome, 'a');
  });

  it('fails when the response is not from the service', async () => {
    for (const body of [null, 'Please sign in', { path: 7 }]) {
      const { request, outcome } = begin();
      request.respond(200, body);
      assert.equal(statusOf(await outcome), 200);
    }
  });

  it('fails without a response when no byte was sent for a minute', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { request, outcome } = begin();
    t.mock.timers.tick(50_000);
    request.progress(2, 4);
    t.mock.timers.tick(50_000);
    assert.equal(request.isAborted, false);
    t.mock.timers.tick(10_000);
    assert.equal(request.isAborted, true);
    assert.equal(statusOf(await outcome), 0);
  });

  it('waits longer for the response once the file was sent', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { request, outcome } = begin();
    request.upload.dispatchEvent(new Event('load'));
    t.mock.timers.tick(200_000);
    request.respond(200, { path: 'a' });
    assert.equal(await outcome, 'a');
    t.mock.timers.tick(400_000);
    assert.equal(request.isAborted, false);
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const { request, outcome } = begin(controller.signal);
    controller.abort('enough');
    assert.equal(request.isAborted, true);
    assert.equal(await outcome, 'enough');
  });
});
