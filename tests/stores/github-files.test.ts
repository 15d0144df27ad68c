import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { shaOfBlob } from '../../src/stores/github/branch/objects.ts';
import type { Content } from '../../testing/servers/github.ts';
import { file, folder, ofKind, textOf } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { firstBytes } from './github-blobs.ts';
import { BLOB, BRANCH, GET_BLOB, MIB, requestsDuring, TREES, unavailable } from './github-reading.ts';
import { event, type Opened, openRepository } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const BYTES = randomBytes(2 * MIB);
const FILES = { 'f/bytes': BYTES, 'text.txt': 'the text', empty: '' };

/** Opens a branch that the store reads once, and then trusts for the whole test. */
async function open(t: TestContext, files: Readonly<Record<string, Content>> = FILES): Promise<Opened> {
  const opened = await openRepository(t, { files }, { trust: 600 });
  await opened.store.list(folder(''));
  opened.host.forget();
  return opened;
}

async function bytesOf({ store }: Pick<Opened, 'store'>, path: string): Promise<Buffer> {
  return buffer((await store.read(file(path))).body);
}

describe('A file of a branch', () => {
  it('has its metadata without a download', async (t) => {
    const opened = await open(t);
    const { store, repository } = opened;
    const know = async () => {
      const found = await store.stat(file('f/bytes'));
      assert.deepEqual(found, {
        kind: 'file',
        path: 'f/bytes',
        size: BYTES.length,
        etag: shaOfBlob(BYTES),
        modified: null,
        type: 'application/octet-stream',
      });
      const [listed] = (await store.list(folder('f'))).entries;
      assert.deepEqual(listed, found);
    };
    assert.deepEqual(await requestsDuring(opened, know), []);
    assert.equal(await repository.git('rev-parse', 'main:f/bytes'), shaOfBlob(BYTES));
  });

  it('is requested once, and cached', async (t) => {
    const opened = await open(t);
    assert.deepEqual(
      await requestsDuring(opened, async () => assert.ok((await bytesOf(opened, 'f/bytes')).equals(BYTES))),
      [BLOB],
    );
    assert.deepEqual(
      await requestsDuring(opened, async () => assert.ok((await bytesOf(opened, 'f/bytes')).equals(BYTES))),
      [],
    );
    const restarted = { host: opened.host, store: opened.another() };
    assert.deepEqual(
      await requestsDuring(opened, async () => assert.ok((await bytesOf(restarted, 'f/bytes')).equals(BYTES))),
      [BRANCH, TREES],
    );
  });

  it('is not requested when another file has the same content', async (t) => {
    const opened = await open(t, { a: BYTES, 'f/b': BYTES });
    await bytesOf(opened, 'a');
    assert.deepEqual(await requestsDuring(opened, () => bytesOf(opened, 'f/b')), []);
  });

  it('is not requested when it is empty', async (t) => {
    const opened = await open(t);
    assert.deepEqual(
      await requestsDuring(opened, async () => assert.equal(await textOf(opened.store, 'empty'), '')),
      [],
    );
  });

  it('is requested once by many concurrent readers', async (t) => {
    const opened = await open(t);
    const read = async () => {
      const bytes = await Promise.all(Array.from({ length: 20 }, () => bytesOf(opened, 'f/bytes')));
      for (const each of bytes) assert.ok(each.equals(BYTES));
    };
    assert.deepEqual(await requestsDuring(opened, read), [BLOB]);
  });

  it('returns the requested range, uncached and cached', async (t) => {
    const opened = await open(t);
    const { store } = opened;
    const parts = async () => {
      for (const [range, start, end] of [
        [{ start: MIB, end: MIB + 9 }, MIB, MIB + 9],
        [{ suffix: 5 }, BYTES.length - 5, BYTES.length - 1],
        [{ start: 7 }, 7, BYTES.length - 1],
      ] as const) {
        const content = await store.read(file('f/bytes'), { range });
        assert.deepEqual(content.range, { start, end });
        assert.ok((await buffer(content.body)).equals(BYTES.subarray(start, end + 1)));
      }
    };
    await parts();
    assert.deepEqual(await requestsDuring(opened, parts), []);
    await assert.rejects(
      store.read(file('f/bytes'), { range: { start: BYTES.length } }),
      ofKind('range-unsatisfiable'),
    );
    await assert.rejects(store.read(file('empty'), { range: { suffix: 1 } }), ofKind('range-unsatisfiable'));
  });

  it('is not requested when its etag differs or it is too large', async (t) => {
    const opened = await open(t);
    const { store } = opened;
    const read = async () => {
      await assert.rejects(store.read(file('f/bytes'), { ifMatch: 'another' }), ofKind('condition-failed'));
      const large = await store.read(file('f/bytes'), { maxSize: BYTES.length - 1 });
      assert.equal(large.file.size, BYTES.length);
      large.body.destroy();
    };
    assert.deepEqual(await requestsDuring(opened, read), []);
    const whole = await store.read(file('f/bytes'), { maxSize: BYTES.length, ifMatch: shaOfBlob(BYTES) });
    assert.ok((await buffer(whole.body)).equals(BYTES));
  });

  it('stays the same for a reader during commits', async (t) => {
    const { store, repository, another } = await open(t);
    const content = await store.read(file('f/bytes'));
    await repository.commit({ 'f/bytes': 'other' });
    const later = another();
    assert.equal(await textOf(later, 'f/bytes'), 'other');
    assert.ok((await buffer(content.body)).equals(BYTES));
  });
});

describe('A file during host failures', () => {
  for (const bytes of [0, 1, MIB, BYTES.length - 1]) {
    it(`fails for the reader when the host stops after ${bytes} bytes, and is complete the next time`, async (t) => {
      const opened = await open(t);
      opened.host.intercept(({ route }) => (route === GET_BLOB ? { cutAfterBytes: bytes } : undefined));
      const received: Buffer[] = [];
      const read = async () => {
        for await (const chunk of (await opened.store.read(file('f/bytes'))).body) received.push(chunk);
      };
      await assert.rejects(read(), unavailable(/closed the connection|broke/));
      const length = Buffer.concat(received).length;
      assert.ok(length <= bytes && Buffer.concat(received).equals(BYTES.subarray(0, length)));
      opened.host.intercept(undefined);
      assert.ok((await bytesOf(opened, 'f/bytes')).equals(BYTES));
    });
  }

  it('never returns the bytes of another file', async (t) => {
    const opened = await open(t);
    const { store, host } = opened;
    host.intercept(({ route }) => (route === GET_BLOB ? { status: 200, body: 'eht text' } : undefined));
    await assert.rejects(textOf(store, 'text.txt'), unavailable(/do not match the hash/));
    host.intercept(({ route }) =>
      route === GET_BLOB ? { status: 200, body: '<html>Please log in</html>' } : undefined,
    );
    await assert.rejects(textOf(store, 'text.txt'), unavailable(/do not match the hash/));
    host.intercept(undefined);
    assert.equal(await textOf(store, 'text.txt'), 'the text');
  });

  it('fails at once for all readers when the host rejects the request', async (t) => {
    const { store, host } = await open(t);
    host.intercept(({ route }) => (route === GET_BLOB ? { status: 500, body: { message: 'Oops' } } : undefined));
    const reads = Array.from({ length: 5 }, () => store.read(file('text.txt')));
    for (const read of await Promise.allSettled(reads)) {
      assert.equal(read.status === 'rejected' && read.reason.kind, 'unavailable');
    }
    host.intercept(undefined);
    assert.equal(await textOf(store, 'text.txt'), 'the text');
  });

  it('is requested again after a transient failure of the host', async (t) => {
    const { store, host } = await open(t);
    let failures = 0;
    host.intercept(({ route }) => (route === GET_BLOB && failures++ < 2 ? { status: 502 } : undefined));
    assert.equal(await textOf(store, 'text.txt'), 'the text');
  });
});

describe('An interrupted read', () => {
  it('fails at once for the reader that aborts, and for no other reader', async (t) => {
    const { store, host } = await open(t);
    const [arrived, released] = [event(), event()];
    host.intercept(async ({ route }) => {
      if (route !== GET_BLOB) return undefined;
      arrived.happen();
      await released.happened;
      return undefined;
    });
    const controller = new AbortController();
    const aborted = store.read(file('f/bytes'), { signal: controller.signal });
    const read = store.read(file('f/bytes'));
    await arrived.happened;
    controller.abort(new Error('left'));
    await assert.rejects(aborted, /left/);
    released.happen();
    assert.ok((await buffer((await read).body)).equals(BYTES));
  });

  it('fails when the store is closed, which also rejects new reads', async (t) => {
    const opened = await open(t);
    const { host, another } = opened;
    const store = another();
    await store.stat(file('f/bytes'));
    const [arrived, released] = [event(), event()];
    host.intercept(async ({ route }) => {
      if (route !== GET_BLOB) return undefined;
      arrived.happen();
      await released.happened;
      return undefined;
    });
    const waiting = assert.rejects(store.read(file('f/bytes')), unavailable(/shutting down/));
    await arrived.happened;
    await store.close?.();
    await waiting;
    released.happen();
    await assert.rejects(store.read(file('f/bytes')), unavailable(/shutting down/));
  });

  it('fails when the store is closed after its first bytes', async (t) => {
    const { another } = await open(t);
    const store = another();
    const content = await store.read(file('f/bytes'));
    assert.ok((await firstBytes(content.body)).length < BYTES.length);
    await store.close?.();
    await assert.rejects(buffer(content.body), unavailable(/shutting down/));
  });
});
