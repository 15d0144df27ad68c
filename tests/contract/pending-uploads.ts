import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe } from 'node:test';
import type { Capability, PendingUpload, Store, UploadDestination, WriteOptions } from '../../src/model/store.ts';
import { type Backend, type Trait, testsOf } from './backend.ts';
import { assertSameBytes, file, ofKind, plant, textOf, treeOf } from './bytes.ts';

type Uploading = Required<Pick<Store, 'createUpload' | 'openUpload'>>;

const TYPE = 'text/x-a';

/** Tests `Store.createUpload` and `Store.openUpload`. */
export function pendingUploadsContract(backend: Backend): void {
  const part = backend.partBytes?.() ?? 2 ** 20;
  describe(`The contract of uploads in parts: ${backend.name}`, { concurrency: 1 }, () => {
    let store: Store;
    let close: () => Promise<void>;
    let count = 0;

    beforeEach(async () => {
      ({ store, close } = await backend.open());
    });
    afterEach(() => close());

    /** Defines a test, on stores that have the members and traits that it needs. */
    const ofUploads = (
      rule: string,
      test: (uploading: Uploading) => Promise<void>,
      ...needed: readonly (Capability | Trait)[]
    ) =>
      testsOf(backend)(needed, rule, () => {
        const { createUpload, openUpload } = store;
        assert.ok(createUpload && openUpload);
        return test({ createUpload, openUpload });
      });
    /** Begins an upload and returns its ID. */
    const begin = async ({ createUpload }: Uploading, path: string, target: Partial<UploadDestination> = {}) => {
      const id = `upload-${++count}`;
      await createUpload(id, { file: file(path), type: TYPE, ...target });
      return id;
    };
    const append = async ({ openUpload }: Uploading, id: string, ...chunks: (Buffer | string)[]) =>
      (await openUpload(id)).append(bodyOf(...chunks));
    const commit = async (
      { openUpload }: Uploading,
      id: string,
      path: string,
      options: Parameters<PendingUpload['commit']>[2] = {},
    ) => (await openUpload(id)).commit(file(path), { type: TYPE }, options);
    const offsetOf = async ({ openUpload }: Uploading, id: string) => (await openUpload(id)).offset;

    ofUploads('becomes a file from several appends, and then no longer exists', async (uploading) => {
      const id = await begin(uploading, 'f/ü a.txt', { size: 9 });
      assert.equal(await offsetOf(uploading, id), 0);
      assert.equal(await append(uploading, id, 'abc'), 3);
      assert.equal(await append(uploading, id), 3);
      assert.equal(await append(uploading, id, 'd', 'ef'), 6);
      assert.equal(await offsetOf(uploading, id), 6);
      const upload = await uploading.openUpload(id);
      assert.equal(await upload.append(bodyOf('g')), 7);
      assert.equal(await upload.append(bodyOf('hi')), 9);
      assert.deepEqual(await treeOf(store), {}, 'nothing is visible before the commit');
      const entry = await commit(uploading, id, 'f/ü a.txt');
      assert.equal(entry.size, 9);
      assert.equal(entry.etag, (await store.stat(file('f/ü a.txt'))).etag);
      if (!backend.lacks['stored-types']) assert.equal((await store.stat(file('f/ü a.txt'))).type, TYPE);
      assert.deepEqual(await treeOf(store), { 'f/': null, 'f/ü a.txt': 'abcdefghi' });
      await assert.rejects(uploading.openUpload(id), ofKind('not-found'));
    });

    ofUploads(
      'becomes a file from parts that a client sends to the store itself',
      async (uploading) => {
        const presignParts = store.presignParts ?? assert.fail();
        const bytes = Buffer.from('content');
        const id = await begin(uploading, 'f/ü a+b%20.txt', { size: bytes.length });
        const requested = [{ number: 1, md5: createHash('md5').update(bytes).digest('base64') }];
        const { parts, partSize } = await presignParts(id, requested, { expires: 60 });
        assert.ok(partSize > bytes.length);
        assert.deepEqual(
          parts.map(({ number, offset, size }) => ({ number, offset, size })),
          [{ number: 1, offset: 0, size: bytes.length }],
        );
        for (const { url, headers } of parts) {
          assert.equal((await fetch(url, { method: 'PUT', headers, body: bytes })).status, 200);
        }
        assert.equal(await offsetOf(uploading, id), bytes.length);
        const { etag } = await commit(uploading, id, 'f/ü a+b%20.txt');
        assert.equal(etag, (await store.stat(file('f/ü a+b%20.txt'))).etag);
        assert.deepEqual(await treeOf(store), { 'f/': null, 'f/ü a+b%20.txt': 'content' });
        await assert.rejects(presignParts(id, requested, { expires: 60 }), ofKind('not-found'));
      },
      'presignParts',
    );

    ofUploads(
      'removes old uploads that are orphaned, and no others',
      async (uploading) => {
        const { openUpload } = uploading;
        const removeUploads = store.removeUploads ?? assert.fail();
        const orphan = await begin(uploading, 'a', { size: part + 3 });
        await append(uploading, orphan, randomBytes(part + 2));
        const known = await begin(uploading, 'b');
        await append(uploading, known, 'b');
        const isOrphaned = async (id: string) => id !== known;
        const [past, future] = [-1, 1].map((days) => new Date(Date.now() + days * 24 * 60 * 60_000));
        assert.ok(past && future);
        assert.equal(await removeUploads({ before: past, isOrphaned }), 0);
        assert.equal(await offsetOf(uploading, orphan), part + 2);
        assert.equal(await removeUploads({ before: future, isOrphaned }), 1);
        await assert.rejects(openUpload(orphan), ofKind('not-found'));
        assert.equal(await removeUploads({ before: future, isOrphaned }), 0, 'nothing remains');
        await commit(uploading, known, 'b');
        assert.deepEqual(await treeOf(store), { b: 'b' });
      },
      'removeUploads',
    );

    ofUploads('can be empty', async (uploading) => {
      const id = await begin(uploading, 'a', { size: 0 });
      assert.equal((await commit(uploading, id, 'a')).size, 0);
      assert.equal(await textOf(store, 'a'), '');
    });

    ofUploads('keeps appends that end before, at and after the end of a part', async (uploading) => {
      const bytes = randomBytes(3 * part + 1);
      const ends = [1, part - 1, part, 2 * part + 1, 3 * part, bytes.length];
      const id = await begin(uploading, 'a', { size: bytes.length });
      let start = 0;
      for (const end of ends) {
        assert.equal(await append(uploading, id, bytes.subarray(start, end)), end);
        assert.equal(await offsetOf(uploading, id), end);
        start = end;
      }
      const { size, etag } = await commit(uploading, id, 'a');
      assert.equal(size, bytes.length);
      assert.equal((await store.stat(file('a'))).etag, etag);
      assertSameBytes(await contentOf(store, 'a'), bytes);
    });

    ofUploads('reports the offsets that are durable before an append ends', async (uploading) => {
      const bytes = randomBytes(2 * part + 1);
      const id = await begin(uploading, 'a', { size: bytes.length });
      const offsets: number[] = [];
      const upload = await uploading.openUpload(id);
      await upload.append(bodyOf(bytes), { onDurable: (offset) => void offsets.push(offset) });
      assert.deepEqual(
        offsets,
        offsets.toSorted((left, right) => left - right),
      );
      const reached = offsets.filter((offset) => offset < bytes.length).at(-1);
      assert.equal(reached, backend.lacks['durable-offsets'] ? undefined : 2 * part);
    });

    ofUploads('can end exactly with a part', async (uploading) => {
      const bytes = randomBytes(part);
      const id = await begin(uploading, 'a', { size: part });
      assert.equal(await append(uploading, id, bytes), part);
      await commit(uploading, id, 'a');
      assertSameBytes(await contentOf(store, 'a'), bytes);
    });

    ofUploads('keeps the bytes that arrived of an interrupted body', async (uploading) => {
      const bytes = randomBytes(part + 1000);
      const id = await begin(uploading, 'a', { size: bytes.length });
      await append(uploading, id, bytes.subarray(0, 10));
      const reason = new Error('The client disconnected.');
      const upload = await uploading.openUpload(id);
      await assert.rejects(upload.append(brokenBody(reason, bytes.subarray(10, part + 100))), reason);
      assert.equal(await offsetOf(uploading, id), part + 100);
      const controller = new AbortController();
      const aborted = await uploading.openUpload(id);
      const endless = abortedBody(controller, reason, bytes.subarray(part + 100, part + 300));
      await assert.rejects(aborted.append(endless, { signal: controller.signal }), reason);
      assert.equal(await offsetOf(uploading, id), part + 300);
      const never = await uploading.openUpload(id);
      await assert.rejects(
        never.append(bodyOf(bytes.subarray(part + 300)), { signal: AbortSignal.abort(reason) }),
        reason,
      );
      const offset = await offsetOf(uploading, id);
      assert.equal(offset, part + 300);
      await append(uploading, id, bytes.subarray(offset));
      await commit(uploading, id, 'a');
      assertSameBytes(await contentOf(store, 'a'), bytes);
    });

    ofUploads('keeps nothing of an append that is not valid', async (uploading) => {
      const bytes = randomBytes(3 * part);
      const id = await begin(uploading, 'a', { size: bytes.length });
      const wrong = new Error('The checksum is wrong.');
      const verify = () => Promise.reject(wrong);
      const valid = { verify: async () => {} };
      const tryAppend = async (body: Readable) => (await uploading.openUpload(id)).append(body, { verify });
      await assert.rejects(tryAppend(bodyOf('x'.repeat(20))), wrong);
      assert.equal(await offsetOf(uploading, id), 0);
      assert.equal(await (await uploading.openUpload(id)).append(bodyOf(bytes.subarray(0, 10)), valid), 10);
      await assert.rejects(tryAppend(bodyOf(Buffer.alloc(3 * part - 10))), wrong);
      assert.equal(await offsetOf(uploading, id), 10);
      const reason = new Error('The client disconnected.');
      const upload = await uploading.openUpload(id);
      await assert.rejects(upload.append(brokenBody(reason, Buffer.alloc(2 * part)), valid), reason);
      assert.equal(await offsetOf(uploading, id), 10);
      // The later parts that were sent before do not count when the missing one arrives.
      const sent = bytes.subarray(10, part + 5);
      assert.equal(await (await uploading.openUpload(id)).append(bodyOf(sent), valid), part + 5);
      assert.equal(await offsetOf(uploading, id), part + 5);
      assert.equal(await (await uploading.openUpload(id)).append(bodyOf(bytes.subarray(part + 5)), valid), 3 * part);
      await commit(uploading, id, 'a');
      assertSameBytes(await contentOf(store, 'a'), bytes);
    });

    for (const size of [3, part + 3]) {
      ofUploads(`of ${size} bytes requires the condition at its creation and at its commit`, async (uploading) => {
        const bytes = randomBytes(size);
        await plant(store, { taken: 'old' });
        await assert.rejects(begin(uploading, 'taken', { condition: 'absent' }), ofKind('condition-failed'));
        const id = await begin(uploading, 'a', { condition: 'absent', size });
        await append(uploading, id, bytes);
        await plant(store, { a: 'other' });
        for (let attempt = 1; attempt <= 2; attempt++) {
          await assert.rejects(commit(uploading, id, 'a', { condition: 'absent' }), ofKind('condition-failed'));
        }
        assert.equal(await textOf(store, 'a'), 'other');
        assert.equal(await offsetOf(uploading, id), size);
        await store.remove(file('a'));
        const outcomes: boolean[] = [];
        const onOutcome: WriteOptions['onOutcome'] = ({ replaced }) => void outcomes.push(replaced);
        await commit(uploading, id, 'a', { condition: 'absent', onOutcome });
        assert.deepEqual(outcomes, [false]);
        assertSameBytes(await contentOf(store, 'a'), bytes);
      });

      ofUploads(`of ${size} bytes replaces the file with the ETag of its condition`, async (uploading) => {
        const bytes = randomBytes(size);
        await plant(store, { a: 'old' });
        const { etag } = await store.stat(file('a'));
        const other = { condition: { etag: 'other' } };
        await assert.rejects(begin(uploading, 'a', other), ofKind('condition-failed'));
        const id = await begin(uploading, 'a', { condition: { etag }, size });
        await append(uploading, id, bytes);
        await assert.rejects(commit(uploading, id, 'a', other), ofKind('condition-failed'));
        await commit(uploading, id, 'a', { condition: { etag } });
        assertSameBytes(await contentOf(store, 'a'), bytes);
      });

      ofUploads(
        `of ${size} bytes keeps the content that it replaces as a version`,
        async (uploading) => {
          const bytes = randomBytes(size);
          await plant(store, { a: 'old' });
          const id = await begin(uploading, 'a', { size, user: 'ann' });
          await append(uploading, id, bytes);
          const kept: string[] = [];
          await commit(uploading, id, 'a', { keep: { user: 'ann', onKept: (version) => kept.push(version) } });
          assertSameBytes(await contentOf(store, 'a'), bytes);
          const { versions } = (await store.listVersions?.(file('a'))) ?? assert.fail();
          assert.deepEqual(
            versions.map(({ id: version, size: bytesOfVersion, replacedBy }) => [version, bytesOfVersion, replacedBy]),
            [[kept[0], 3, 'ann']],
          );
        },
        'listVersions',
      );
    }

    ofUploads('ends when it is removed, any number of times', async (uploading) => {
      for (const size of [0, 10, part + 10]) {
        const id = await begin(uploading, 'a', { size });
        await append(uploading, id, randomBytes(size));
        const [first, second] = [await uploading.openUpload(id), await uploading.openUpload(id)];
        await first.remove();
        await first.remove();
        await second.remove();
        await assert.rejects(uploading.openUpload(id), ofKind('not-found'));
      }
      assert.deepEqual(await treeOf(store), {});
    });

    ofUploads('is not-found with an ID that no upload has', async ({ openUpload }) => {
      for (const id of ['missing', '', '.', '..', '../x', 'a/b', 'ü', 'a'.repeat(300)]) {
        await assert.rejects(openUpload(id), ofKind('not-found'), id);
      }
    });
  });
}

const bodyOf = (...chunks: (Buffer | string)[]) =>
  Readable.from(
    chunks.map((chunk) => Buffer.from(chunk)),
    { objectMode: false },
  );

/** Returns a body that fails after some bytes. */
function brokenBody(reason: Error, bytes: Buffer): Readable {
  const broken = async function* () {
    yield bytes;
    throw reason;
  };
  return Readable.from(broken(), { objectMode: false });
}

/** Returns a body during which its request is aborted. It never ends by itself. */
function abortedBody(controller: AbortController, reason: Error, bytes: Buffer): Readable {
  const chunks = [bytes];
  return new Readable({
    read() {
      const chunk = chunks.shift();
      if (chunk) this.push(chunk);
      else controller.abort(reason);
    },
  });
}

async function contentOf(store: Pick<Store, 'read'>, path: string): Promise<Buffer> {
  return buffer((await store.read(file(path))).body);
}
