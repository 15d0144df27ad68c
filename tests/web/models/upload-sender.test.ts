import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Sender } from '../../../web/src/model/uploads/sender.ts';
import type { QueuedItem } from '../../../web/src/model/uploads/upload-item.ts';
import type { FileEntry } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { refusal } from './service-errors.ts';
import { fileItem } from './upload-items.ts';

interface SceneOptions {
  /** The errors of the attempts to upload, in order; undefined for a success. Further attempts succeed. */
  readonly errors: readonly (ServiceError | undefined)[];
  /** The file that the service lists; the test fails if the folder is listed without one. */
  readonly listed?: FileEntry;
  /** Whether the service responds, at each check in order. Further checks succeed. */
  readonly checks?: readonly boolean[];
}

/** A sender, the delays between its attempts in milliseconds, and the number of attempts. */
function createScene({ errors, listed, checks = [] }: SceneOptions) {
  const delays: number[] = [];
  const remainingChecks = [...checks];
  let attempts = 0;
  const sender = new Sender({
    service: {
      async upload({ folder, name }) {
        const error = errors[attempts++];
        if (error) throw error;
        return { path: folder + name, etag: '"1"' };
      },
      createFolder: async () => ({}),
      async list() {
        assert.ok(listed, 'Unexpected request for a listing.');
        return { success: true, prefix: '', entries: [listed] };
      },
    },
    connection: {
      whenOnline: async () => {},
      delay: async (milliseconds) => void delays.push(milliseconds),
      isServiceReachable: async () => remainingChecks.shift() ?? true,
    },
    onProgress() {},
  });
  /** Returns the stored file or the error. */
  const send = (item: QueuedItem = fileItem('a')): Promise<unknown> =>
    sender.send(item, new AbortController().signal).catch((error: unknown) => error);
  return { sender, send, delays, attempts: () => attempts };
}

const lost = (status = 0) => new ServiceError(status, '');
const nameTaken = () => refusal('name-taken', 'There is a file of this name.');

describe('An upload whose response was lost', () => {
  const listedFile = (size: number, modified: string | null, name = 'a'): FileEntry => ({
    type: 'file',
    name,
    path: name,
    size,
    modified,
    contentType: '',
    etag: '"2"',
  });
  const now = () => new Date().toISOString();

  it('is done when the service rejects the name because of the file that it stored', async () => {
    for (const status of [0, 503]) {
      const { send } = createScene({ errors: [lost(), lost(status), nameTaken()], listed: listedFile(4, now()) });
      const item = fileItem('a');
      assert.deepEqual(await send(item), { path: 'a', etag: '"2"' });
      assert.equal(item.uncertainAttempt, undefined);
    }
  });

  it('is done when the stored file has kept the modification time of the sent one', async () => {
    const item = fileItem('a', { lastModified: Date.UTC(2019, 6, 20, 12, 30, 15, 250) });
    const { send } = createScene({ errors: [lost(), nameTaken()], listed: listedFile(4, '2019-07-20T12:30:15.000Z') });
    assert.deepEqual(await send(item), { path: 'a', etag: '"2"' });
  });

  it('conflicts with a file of another size or time', async () => {
    const earlier = new Date(Date.now() - 60_000).toISOString();
    for (const listed of [listedFile(5, now()), listedFile(4, earlier), listedFile(4, null)]) {
      const error = nameTaken();
      assert.equal(await createScene({ errors: [lost(), error], listed }).send(), error);
    }
  });

  it('is found by a retry, and stored once when the user keeps both files', async () => {
    const item = fileItem('a');
    item.storedName.value = 'a (2)';
    item.mayRename = true;
    const error = lost();
    assert.equal(await createScene({ errors: Array.from({ length: 5 }, () => error) }).send(item), error);
    const { send } = createScene({ errors: [nameTaken()], listed: listedFile(4, now(), 'a (2)') });
    assert.deepEqual(await send(item), { path: 'a (2)', etag: '"2"' });
  });
});

describe('The sender', () => {
  it('reports a taken name without a listing when every attempt had a response', async () => {
    const error = nameTaken();
    assert.equal(await createScene({ errors: [error] }).send(), error);
    assert.equal(await createScene({ errors: [new ServiceError(429, ''), error] }).send(), error);
  });

  it('retries transient errors after increasing delays', async () => {
    const { send, delays } = createScene({ errors: [lost(), lost(503), lost(429)] });
    assert.deepEqual(await send(), { path: 'a', etag: '"1"' });
    assert.deepEqual(delays, [1000, 2000, 4000]);
  });

  it('waits for as long as the service asks for', async () => {
    const { send, delays } = createScene({ errors: [refusal('store-busy', '', 17)] });
    await send();
    assert.deepEqual(delays, [17_000]);
  });

  it('fails without a retry when the service asks for a delay of more than two minutes', async () => {
    const error = refusal('store-busy', '', 121);
    const { send, delays } = createScene({ errors: [error] });
    assert.equal(await send(), error);
    assert.deepEqual(delays, []);
  });

  it('fails after five attempts, and tries the next files once', async () => {
    const errors = Array.from({ length: 20 }, (_, index) => new ServiceError(503, `Busy ${index}.`));
    const { send, attempts } = createScene({ errors });
    assert.deepEqual([await send(), await send(), await send()], [errors[4], errors[5], errors[6]]);
    assert.equal(attempts(), 7);
  });

  it('fails without a retry on permanent errors', async () => {
    for (const error of [refusal('unsupported-name', 'A bad name.'), refusal('store-full', 'No space left.')]) {
      const { send, delays } = createScene({ errors: [error] });
      assert.equal(await send(), error);
      assert.deepEqual(delays, []);
    }
  });

  it('fails without a retry when the file is unreadable', async () => {
    const file = fileItem('a').file ?? assert.fail();
    file.slice = () => {
      throw new DOMException('It was changed.', 'NotReadableError');
    };
    const { send, delays } = createScene({ errors: [lost()] });
    assert.equal(String(await send({ ...fileItem('a'), file })), 'ServiceError: The file is unreadable.');
    assert.deepEqual(delays, []);
  });
});

describe('An upload while the service is unreachable', () => {
  it('waits with growing delays until the service responds, however long that takes, and then has all its retries', async () => {
    const down = Array.from({ length: 8 }, () => false);
    const { sender, send, delays, attempts } = createScene({
      errors: [lost(), lost(502), lost(), lost(), lost(), lost()],
      checks: [...down, true, false, true],
    });
    const waits: boolean[] = [];
    sender.isWaiting.subscribe((isWaiting) => void waits.push(isWaiting));
    assert.deepEqual(await send(), { path: 'a', etag: '"1"' });
    assert.deepEqual(waits, [false, true, false, true, false]);
    assert.equal(attempts(), 7);
    // Then, the service responds to checks although uploads fail: that is not an outage.
    assert.deepEqual(
      delays,
      [1, 2, 4, 8, 15, 15, 15, 15, 1, 1, 2, 4, 8].map((seconds) => seconds * 1000),
    );
  });

  it('is cancelled without waiting for the service', async () => {
    const { sender } = createScene({ errors: [lost()], checks: Array.from({ length: 10_000 }, () => false) });
    const ending = new AbortController();
    sender.isWaiting.subscribe((isWaiting) => {
      if (isWaiting) ending.abort(new Error('cancelled'));
    });
    await assert.rejects(sender.send(fileItem('a'), ending.signal), /cancelled/);
    assert.ok(sender.isWaiting.value);
  });

  it('fails at once if the response shows that the service is there', async () => {
    const error = refusal('permission-denied', 'Not here.');
    const { send, attempts } = createScene({ errors: [error], checks: [false] });
    assert.equal(await send(), error);
    assert.equal(attempts(), 1);
  });
});
