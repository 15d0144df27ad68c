import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { effect, signal } from '@preact/signals';
import { createPermissions } from '../../../web/src/model/account/permissions.ts';
import { withReauth } from '../../../web/src/model/account/with-reauth.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { noResponse, ServiceError, serviceErrorOf } from '../../../web/src/platform/service/service-error.ts';
import type { Upload, UploadedFile } from '../../../web/src/platform/service/upload.ts';
import { withoutIsolates } from './languages.ts';
import { refusal } from './service-errors.ts';
import { testAccount } from './test-account.ts';
import { createUploadScene, fileToUpload } from './upload-scene.ts';

const SKIP = { decision: 'skip', forAll: false } as const;
const KEEP_BOTH = { decision: 'keep-both', forAll: false } as const;

/** Replaces `upload`; `send` stores the file in the service. */
const uploadBy =
  (upload: (sent: Upload, send: () => Promise<UploadedFile>) => Promise<UploadedFile>) =>
  (service: Service): Partial<Service> => ({ upload: (sent) => upload(sent, () => service.upload(sent)) });

/** Rejects when an upload is cancelled. */
async function cancellation(ending: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  ending.addEventListener('abort', () => reject(ending.reason));
  ending.throwIfAborted();
  return promise;
}

/** Uploads that wait until the test releases them, or until they are cancelled. */
function heldUploads() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const override = uploadBy(async ({ signal: ending }, send) => {
    await Promise.race([promise, cancellation(ending)]);
    return send();
  });
  return { override, release };
}

const lost = () => new ServiceError(0, '');

// Tests don't wait for retries, summaries and highlights.
beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

describe('An upload whose response was lost', () => {
  /** Loses the response to the first upload. */
  const loseFirst = () => {
    let attempts = 0;
    return uploadBy(async (_upload, send) => {
      const stored = await send();
      if (++attempts === 1) throw lost();
      return stored;
    });
  };

  it('can be undone together at the end, except those that failed or need a permission', async () => {
    const scene = await createUploadScene({
      override: uploadBy(({ name }, send) =>
        name === 'c.txt' ? Promise.reject(refusal('invalid-path', 'Not this name.')) : send(),
      ),
    });
    scene.add({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    await scene.idle();
    assert.deepEqual(scene.offered, [
      [
        { change: 'change-1', path: 'a.txt', removed: ['a.txt'], added: [] },
        { change: 'change-2', path: 'b.txt', removed: ['b.txt'], added: [] },
      ],
    ]);
    assert.equal(scene.uploads.undo.value?.label, 'Undo 2 uploads');
    const restricted = await createUploadScene({ permissions: ['read', 'write'] });
    restricted.add({ 'a.txt': 'a' });
    await restricted.idle();
    assert.deepEqual(restricted.offered, []);
  });

  it('can be undone only as long as they are the last ones, by a button that counts them', async () => {
    const scene = await createUploadScene({
      override: uploadBy(({ name, signal: ending }, send) => (name === 'large.bin' ? cancellation(ending) : send())),
    });
    const label = () => scene.uploads.undo.value?.label;
    scene.add({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    await scene.idle();
    assert.equal(label(), 'Undo 3 uploads');

    scene.add({ 'large.bin': 'large' });
    assert.equal(label(), undefined);
    scene.uploads.cancelAll();
    await scene.idle();
    assert.equal(label(), undefined, 'nothing was stored');

    scene.add({ 'd.txt': 'd', 'large.bin': 'large' });
    await scene.when(() =>
      scene.uploads.items.value.some(({ name, state }) => name === 'd.txt' && state.value === 'done'),
    );
    scene.uploads.cancelAll();
    await scene.idle();
    assert.deepEqual(
      scene.offered.map((changes) => changes.map(({ path }) => path)),
      [['a.txt', 'b.txt', 'c.txt'], ['d.txt']],
    );
    assert.deepEqual(scene.descriptions, ['3 files uploaded', '“d.txt” uploaded']);
    assert.equal(label(), 'Undo 1 upload');
  });

  it('let the next Ctrl+Z undo nothing if all were cancelled, and not the change before', async () => {
    const override = uploadBy(({ signal: ending }) => cancellation(ending));
    const scene = await createUploadScene({ override });
    const cancelOne = async () => {
      scene.add({ 'large.bin': 'large' });
      scene.uploads.cancelAll();
      await scene.idle();
    };
    await cancelOne();
    assert.deepEqual(scene.undos.value, [], 'there is no change before');

    const earlier = () => assert.fail('The earlier change was undone.');
    scene.undos.value = [earlier];
    await cancelOne();
    await cancelOne();
    assert.equal(scene.undos.value.length, 2);
    scene.undos.value.at(-1)?.();
    assert.deepEqual(scene.undos.value, [earlier]);
    assert.deepEqual(
      scene.messages.shown.value.map(({ text }) => text),
      ['The cancelled uploads stored no files. There is nothing to undo.'],
    );
  });

  it('completes without a conflict with the file that it stored', async () => {
    const scene = await createUploadScene({ override: loseFirst() });
    scene.add({ 'new.txt': 'mine' });
    await scene.idle();
    assert.equal(scene.result(), '1 file uploaded');
    assert.deepEqual([...scene.stored], [['new.txt', 'mine']]);
    assert.deepEqual(scene.shown(), ['new.txt']);
  });

  it('stores one file when the user keeps both', async () => {
    const scene = await createUploadScene({
      files: { 'a.txt': 'theirs' },
      override: loseFirst(),
      response: () => KEEP_BOTH,
    });
    scene.add({ 'a.txt': 'mine' });
    await scene.idle();
    assert.equal(scene.result(), '1 file uploaded');
    assert.deepEqual(Object.fromEntries(scene.stored), { 'a.txt': 'theirs', 'a (2).txt': 'mine' });
  });

  it('fails when another server responds, and other uploads continue', async () => {
    const override = uploadBy(({ name }, send) =>
      name === 'a.txt' ? Promise.reject(serviceErrorOf(200, '<h1>Sign in</h1>', null)) : send(),
    );
    const scene = await createUploadScene({ override });
    scene.add(Object.fromEntries(['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt'].map((name) => [name, name])));
    await scene.idle();
    assert.equal(scene.result(), '4 files uploaded, 1 failed');
    assert.deepEqual([...scene.stored.keys()], ['b.txt', 'c.txt', 'd.txt', 'e.txt']);
  });
});

describe('A stored file', () => {
  it('appears although its upload was cancelled', async () => {
    const stored = signal(false);
    const override = uploadBy(async ({ signal: ending }, send) => {
      await send();
      stored.value = true;
      return cancellation(ending);
    });
    const scene = await createUploadScene({ override });
    scene.add({ 'late.txt': 'late' });
    await scene.when(() => stored.value);
    scene.uploads.cancelAll();
    assert.equal(scene.statusOf('late.txt'), 'Cancelled');
    await scene.when(() => scene.shown().includes('late.txt'));
  });

  it('is found by a second refresh two seconds after its upload was cancelled', async () => {
    let reachService = async () => {};
    const sending = signal(false);
    const override = uploadBy(async ({ signal: ending }, send) => {
      reachService = async () => void (await send());
      sending.value = true;
      return cancellation(ending);
    });
    const scene = await createUploadScene({ override });
    scene.add({ 'late.txt': 'late' });
    await scene.when(() => sending.value);
    scene.uploads.cancelAll();
    await scene.folder.refresh();
    assert.deepEqual(scene.shown(), []);
    await reachService();
    mock.timers.tick(2_000);
    await scene.when(() => scene.shown().includes('late.txt'));
  });

  it('appears within its new folder, which stays visible from the start', async () => {
    const scene = await createUploadScene({ files: { 'z.txt': 'z' } });
    const shown: boolean[] = [];
    const stop = effect(() => {
      const isShown = scene.shown().includes('album/');
      if (shown.at(-1) !== isShown) shown.push(isShown);
    });
    scene.add({ 'album/one.txt': '1' });
    assert.deepEqual(shown, [false, true]);
    await scene.idle();
    await scene.folder.refresh();
    stop();
    assert.ok(scene.stored.has('album/one.txt'));
    assert.deepEqual(shown, [false, true]);
  });

  it('appears while other uploads continue', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({
      override: (service) => {
        const held = override(service).upload ?? service.upload;
        return { upload: (upload) => (upload.name === 'small.txt' ? service.upload(upload) : held(upload)) };
      },
    });
    scene.add({ 'large.bin': 'large', 'small.txt': 'done' });
    await scene.when(() => scene.uploads.items.value.some(({ state }) => state.value === 'done'));
    mock.timers.tick(1_000);
    assert.deepEqual(scene.shown(), ['small.txt']);
    assert.equal(scene.uploads.isBusy.value, true);
    release();
    await scene.idle();
    assert.deepEqual(scene.shown(), ['large.bin', 'small.txt']);
  });

  it('does not appear in a folder that the user can’t read', async () => {
    const scene = await createUploadScene({ permissions: ['write'], shown: 'inbox/', files: { 'inbox/': '' } });
    scene.add({ 'a.txt': 'a', 'new/b.txt': 'b' });
    assert.deepEqual(scene.shown(), []);
    await scene.when(() => scene.uploads.items.value.every(({ state }) => state.value === 'done'));
    mock.timers.tick(1_000);
    assert.equal(scene.result(), '2 files uploaded');
    assert.deepEqual([...scene.stored.keys()], ['inbox/a.txt', 'inbox/new/b.txt']);
  });

  it('stays in the list of uploads when more are added, only if the user can’t read its folder', async () => {
    for (const [permissions, result, listed] of [
      [['write'], '2 files uploaded', ['a.txt', 'b.txt']],
      [['read', 'write'], '1 file uploaded', ['b.txt']],
    ] as const) {
      const scene = await createUploadScene({ permissions, shown: 'inbox/', files: { 'inbox/': '' } });
      for (const name of ['a.txt', 'b.txt']) {
        scene.add({ [name]: name });
        await scene.idle();
      }
      assert.equal(scene.result(), result);
      assert.deepEqual(
        scene.uploads.items.value.map(({ name }) => name),
        listed,
      );
    }
  });
});

describe('A folder that is deleted during uploads into it', () => {
  it('is deleted after the uploads, and does not reappear', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({ files: { 'in/old.txt': 'old', 'z.txt': 'z' }, override });
    const nine = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`${at}.txt`, `${at}`]));
    scene.add(nine, 'in/');
    await scene.when(() => scene.uploads.items.value.some(({ state }) => state.value === 'sending'));
    const removing = scene.folder.begin({ removed: ['in/'] });
    const deleted = scene.pathLocks.withLock({ written: ['in/'] }, async () => {
      for (const path of scene.stored.keys()) if (path.startsWith('in/')) await scene.remove(path);
      removing.commit();
    });
    const shown: (readonly string[])[] = [];
    const stop = effect(() => void shown.push(scene.shown()));
    release();
    await scene.idle();
    await deleted;
    await scene.folder.refresh();
    stop();
    assert.equal(scene.result(), '9 files uploaded');
    assert.deepEqual([...scene.stored.keys()], ['z.txt']);
    assert.ok(shown.every((paths) => !paths.includes('in/')));
  });
});

describe('Retry', () => {
  it('sends every failed file again, except one that is too large', async () => {
    const sent: string[] = [];
    const override = uploadBy(({ name }, send) => {
      sent.push(name);
      if (name === 'large.txt') return Promise.reject(refusal('upload-too-large', 'Too large.'));
      return sent.filter((other) => other === name).length === 1
        ? Promise.reject(refusal('store-full', 'No space left.'))
        : send();
    });
    const scene = await createUploadScene({ override });
    scene.add({ 'large.txt': 'large', 'a.txt': 'a', 'b.txt': 'b' });
    await scene.idle();
    assert.equal(scene.result(), '3 failed');
    assert.equal(scene.retryable(), 2);
    scene.uploads.retryAll();
    await scene.idle();
    assert.equal(scene.result(), '2 files uploaded, 1 failed');
    assert.deepEqual(sent, ['large.txt', 'a.txt', 'b.txt', 'a.txt', 'b.txt']);
    assert.deepEqual([...scene.stored.keys()], ['a.txt', 'b.txt']);
  });

  it('sends a cancelled file again', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({ override });
    scene.add({ 'one.bin': '1', 'two.bin': '2' });
    await scene.when(() => scene.uploads.items.value.every(({ state }) => state.value === 'sending'));
    scene.uploads.cancel(scene.id('one.bin'));
    assert.equal(scene.statusOf('one.bin'), 'Cancelled');
    assert.equal(scene.statusOf('two.bin'), '0 bytes of 1 byte');
    scene.uploads.cancelAll();
    await scene.idle();
    assert.equal(scene.result(), '2 cancelled');
    assert.deepEqual([...scene.stored.keys()], []);
    scene.uploads.retry(scene.id('one.bin'));
    release();
    await scene.idle();
    assert.equal(scene.result(), '1 file uploaded, 1 cancelled');
  });

  it('completes a file that failed because the service was unreachable', async () => {
    let isReachable = false;
    const override = uploadBy((_upload, send) => (isReachable ? send() : Promise.reject(lost())));
    const scene = await createUploadScene({ override });
    scene.add({ 'one.bin': 'one' });
    await scene.idle();
    assert.equal(scene.result(), '1 failed');
    assert.equal(scene.statusOf('one.bin'), 'Can’t reach the server. Check your connection.');
    isReachable = true;
    scene.uploads.retryAll();
    await scene.idle();
    assert.equal(scene.stored.get('one.bin'), 'one');
  });
});

describe('A name conflict', () => {
  const FILES = { 'a.txt': 'old a', 'b.txt': 'old b', 'c.txt': 'old c' };
  const NEW = { 'a.txt': 'new a', 'b.txt': 'new b', 'c.txt': 'new c', 'd.txt': 'new d' };

  it('is resolved for each file as the user decides', async () => {
    const decisions = { 'a.txt': 'replace', 'b.txt': 'keep-both', 'c.txt': 'skip' } as const;
    const scene = await createUploadScene({
      files: FILES,
      response: ({ name }) => ({ decision: decisions[name as keyof typeof decisions], forAll: false }),
    });
    scene.add(NEW);
    await scene.idle();
    assert.equal(scene.result(), '3 files uploaded, 1 skipped');
    assert.deepEqual(Object.fromEntries(scene.stored), {
      'a.txt': 'new a',
      'b.txt': 'old b',
      'b (2).txt': 'new b',
      'c.txt': 'old c',
      'd.txt': 'new d',
    });
    assert.equal(scene.statusOf('b.txt'), 'Uploaded as “b (2).txt”');
    assert.equal(scene.statusOf('c.txt'), 'Skipped because it already exists');
    assert.ok(scene.shown().includes('b (2).txt'));
  });

  it('can delete the earlier versions of all replaced files, which then offer no undo', async () => {
    const deleted = signal<readonly string[]>([]);
    const scene = await createUploadScene({
      files: FILES,
      response: () => ({ decision: 'replace-with-versions', forAll: true }),
      override: () => ({
        async send<Body>(endpoint: string, options: Parameters<Service['send']>[1] = {}) {
          deleted.value = [...deleted.value, `${options.method} ${endpoint}`];
          return {} as Body;
        },
      }),
    });
    scene.add(NEW);
    await scene.idle();
    assert.equal(scene.questions.length, 1);
    assert.deepEqual(Object.fromEntries(scene.stored), NEW);
    await scene.when(() => deleted.value.length === 3);
    assert.deepEqual(
      deleted.value.toSorted(),
      ['a', 'b', 'c'].map((name) => `DELETE -/versions/${name}.txt`),
    );
    assert.deepEqual(
      scene.offered.flat().map(({ path }) => path),
      ['d.txt'],
    );
  });

  it('says that earlier versions could not be deleted', async () => {
    const scene = await createUploadScene({
      files: FILES,
      response: () => ({ decision: 'replace-with-versions', forAll: false }),
      override: () => ({ send: () => Promise.reject(noResponse()) }),
    });
    scene.add({ 'a.txt': 'new a' });
    await scene.when(() => scene.messages.shown.value.length > 0);
    const [message] = scene.messages.shown.value;
    assert.equal(withoutIsolates(message?.text ?? ''), 'Couldn’t delete the earlier versions of “a.txt”');
    assert.equal(message?.detail, 'Can’t reach the server. Check your connection.');
    assert.equal(scene.stored.get('a.txt'), 'new a');
  });

  it('is decided once for all files of a batch, and again for the next batch', async () => {
    const others: number[] = [];
    const scene = await createUploadScene({
      files: FILES,
      response: (question) => {
        others.push(question.others());
        return others.length === 1 ? { decision: 'replace', forAll: true } : SKIP;
      },
    });
    scene.add(NEW);
    await scene.idle();
    assert.equal(scene.result(), '4 files uploaded');
    assert.deepEqual(Object.fromEntries(scene.stored), NEW);
    scene.add({ 'a.txt': 'newer' });
    await scene.idle();
    assert.equal(scene.result(), '1 skipped');
    assert.equal(scene.stored.get('a.txt'), 'new a');
    // Of the other three files, "d.txt" does not conflict.
    assert.deepEqual(others, [2, 0]);
  });

  it('skips all files of the batch when the user cancels the question', async () => {
    const scene = await createUploadScene({ files: FILES, response: () => null });
    scene.add(NEW);
    await scene.idle();
    assert.equal(scene.questions.length, 1);
    assert.equal(scene.result(), '1 file uploaded, 3 skipped');
    assert.deepEqual(Object.fromEntries(scene.stored), { ...FILES, 'd.txt': 'new d' });
  });

  it('detected by the service is resolved with the first free number', async () => {
    const scene = await createUploadScene({ response: () => KEEP_BOTH });
    await scene.store({ 'a.txt': 'theirs', 'a (2).txt': 'theirs too' });
    scene.add({ 'a.txt': 'mine' });
    await scene.idle();
    assert.equal(scene.statusOf('a.txt'), 'Uploaded as “a (3).txt”');
    assert.deepEqual(Object.fromEntries(scene.stored), {
      'a.txt': 'theirs',
      'a (2).txt': 'theirs too',
      'a (3).txt': 'mine',
    });
  });

  it('with a folder fails with the message of the service', async () => {
    const scene = await createUploadScene({ files: { 'notes/x.txt': '' } });
    scene.add({ notes: 'a file' });
    await scene.idle();
    assert.equal(scene.result(), '1 failed');
    assert.equal(scene.statusOf('notes'), 'A file and a folder can’t have the same name.');
  });

  it('offers to replace only with the permission to manage the folder', async () => {
    for (const [permissions, mayReplace] of [
      [['read', 'write'], false],
      [['read', 'write', 'manage'], true],
    ] as const) {
      const scene = await createUploadScene({ files: FILES, permissions, response: () => SKIP });
      scene.add({ 'a.txt': 'new a' });
      await scene.idle();
      assert.deepEqual(
        scene.questions.map((question) => question.mayReplace),
        [mayReplace],
      );
    }
  });
});

describe('An upload', () => {
  it('waits while the device is offline', async () => {
    const scene = await createUploadScene();
    scene.isOnline.value = false;
    scene.add({ 'a.txt': 'a' });
    await scene.when(() => scene.uploads.items.value[0]?.state.value === 'sending');
    assert.equal(scene.stored.size, 0);
    scene.isOnline.value = true;
    await scene.idle();
    assert.deepEqual([...scene.stored.keys()], ['a.txt']);
  });

  it('fails with the reason when the service rejects a name', async () => {
    const override = uploadBy(({ name }, send) =>
      name.includes('\u0007')
        ? Promise.reject(refusal('unsupported-name', 'The name contains a control character.'))
        : send(),
    );
    const scene = await createUploadScene({ override });
    scene.add({ 'bell\u0007.txt': 'x', 'good.txt': 'y' });
    await scene.idle();
    assert.equal(scene.result(), '1 file uploaded, 1 failed');
    assert.equal(scene.statusOf('bell\u0007.txt'), 'The storage doesn’t allow this name.');
  });

  it('of a file above the limit fails without a request, and can’t be retried', async () => {
    const sent: string[] = [];
    const override = uploadBy(({ name }, send) => {
      sent.push(name);
      return send();
    });
    const scene = await createUploadScene({ maxUploadSize: 1000, override });
    scene.add({ 'large.bin': 'x'.repeat(1001), 'small.bin': 'x'.repeat(1000) });
    await scene.idle();
    assert.equal(scene.statusOf('large.bin'), 'This file is larger than the upload limit of 1 kB.');
    assert.equal(scene.result(), '1 file uploaded, 1 failed');
    assert.equal(scene.retryable(), 0);
    scene.uploads.retryAll();
    scene.uploads.retry(scene.id('large.bin'));
    assert.equal(scene.result(), '1 file uploaded, 1 failed');
    assert.deepEqual(sent, ['small.bin']);
  });

  it('shows the name that the service chose', async () => {
    const override = uploadBy(async (_upload, send) => ({ ...(await send()), path: 'a (2).txt' }));
    const scene = await createUploadScene({ override });
    scene.add({ 'a.txt': 'a' });
    await scene.idle();
    assert.equal(scene.statusOf('a.txt'), 'Uploaded as “a (2).txt”');
  });

  it('keeps every byte and every folder of its path', async () => {
    const scene = await createUploadScene({ files: { 'photos/': '' }, shown: 'photos/' });
    scene.add({ 'empty.txt': '', 'note.md': '# Hi 文件', 'trip/day 1/raw/c.txt': 'c' });
    await scene.idle();
    assert.deepEqual(Object.fromEntries(scene.stored), {
      'photos/empty.txt': '',
      'photos/note.md': '# Hi 文件',
      'photos/trip/day 1/raw/c.txt': 'c',
    });
    assert.deepEqual(scene.shown(), ['photos/trip/', 'photos/empty.txt', 'photos/note.md']);
  });

  it('of a batch replaces the finished uploads in the list, except failed ones', async () => {
    const override = uploadBy(({ name }, send) =>
      name === 'bad.txt' ? Promise.reject(refusal('invalid-request', 'No.')) : send(),
    );
    const scene = await createUploadScene({ override });
    scene.add({ 'a.txt': 'a', 'bad.txt': 'b' });
    await scene.idle();
    scene.add({ 'c.txt': 'c' });
    await scene.idle();
    assert.deepEqual(
      scene.uploads.items.value.map(({ name }) => name),
      ['bad.txt', 'c.txt'],
    );
    scene.uploads.clear();
    assert.deepEqual(scene.uploads.items.value, []);
  });

  it('of a batch has its own progress, although the list of a file request keeps the earlier files', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const override = uploadBy(({ name }, send) => (name === 'c.txt' ? held.then(send) : send()));
    const scene = await createUploadScene({ permissions: ['write'], override });
    scene.add({ 'a.txt': '1234', 'b.txt': '1234' });
    await scene.idle();
    assert.equal(scene.result(), '2 files uploaded');
    scene.add({ 'c.txt': '12345678' });
    await scene.when(() => scene.uploads.items.value.at(-1)?.state.value === 'sending');
    mock.timers.tick(1_000);
    const { count, total, part } = scene.uploads.summary.value;
    assert.deepEqual([count.done, count.sending, total, part], [0, 1, 8, 0]);
    release();
    await scene.idle();
    assert.equal(scene.uploads.items.value.length, 3);
    assert.equal(scene.result(), '3 files uploaded');
    scene.uploads.clear();
    mock.timers.tick(1_000);
    assert.equal(scene.uploads.summary.value.filesDone, 0);
  });
});

describe('The end of uploads', () => {
  it('highlights the uploaded entries of the shown folder, and selects none', async () => {
    const scene = await createUploadScene({ files: { 'm.txt': '' } });
    scene.add({ 'z.txt': '', 'b.txt': '', 'new/x.txt': '' });
    await scene.idle();
    assert.deepEqual([...scene.selection.revealed.value].toSorted(), ['b.txt', 'new/', 'z.txt']);
    assert.equal(scene.folder.focused.value, 'new/');
    assert.equal(scene.selection.count.value, 0);
    mock.timers.tick(3_000);
    assert.equal(scene.selection.revealed.value.size, 0);
  });

  it('highlights nothing when the user has done something else', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({ files: { 'm.txt': '' }, override });
    scene.add({ 'z.txt': '' });
    scene.act();
    scene.selection.only('m.txt');
    release();
    await scene.idle();
    assert.equal(scene.selection.revealed.value.size, 0);
    assert.equal(scene.folder.focused.value, null);
    assert.deepEqual([...scene.selection.paths.value], ['m.txt']);
  });

  it('highlights nothing when the user has opened another folder', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({ files: { 'other/m.txt': '' }, override });
    scene.add({ 'z.txt': '' });
    scene.folder.open('other/');
    release();
    await scene.idle();
    assert.equal(scene.selection.revealed.value.size, 0);
  });

  it('lets the user open the folder of an upload, where the entry is selected', async () => {
    const scene = await createUploadScene({ files: { 'box/a.txt': '' }, shown: 'box/' });
    scene.add({ '999.txt': '' });
    await scene.idle();
    for (const leave of [() => scene.folder.open(''), () => void (scene.folder.filter.value = 'nothing')]) {
      leave();
      scene.selection.clear();
      scene.uploads.show(scene.id('999.txt'));
      await scene.when(() => scene.selection.paths.value.has('box/999.txt'));
      assert.equal(scene.folder.path.value, 'box/');
      assert.deepEqual([...scene.selection.revealed.value], ['box/999.txt']);
    }
  });

  it('is announced, like the start', async () => {
    const { override, release } = heldUploads();
    const scene = await createUploadScene({ override });
    scene.add({ 'a.txt': 'a', 'b.txt': 'b' });
    assert.equal(scene.messages.announced.value, 'Uploading 2 files.');
    release();
    await scene.idle();
    assert.equal(scene.messages.announced.value, '2 files uploaded');
  });
});

describe('Dropped folders', () => {
  /** Returns a file that the browser reads once `ready` resolves. */
  const file = (name: string, content: string | Error, ready = Promise.resolve()): FileSystemFileEntry => ({
    ...entryOf(name, 'file'),
    file: (resolve, reject) =>
      void ready.then(() =>
        content instanceof Error ? reject?.(new DOMException('No.')) : resolve(new File([content], name)),
      ),
  });
  /** Returns entries in batches of 100, as browsers do. Fails after `readable` entries. */
  const folder = (
    name: string,
    children: readonly FileSystemEntry[],
    readable = Number.POSITIVE_INFINITY,
  ): FileSystemDirectoryEntry => ({
    ...entryOf(name, 'folder'),
    createReader: () => {
      let at = 0;
      return {
        readEntries: (resolve, reject) =>
          at < readable ? resolve(children.slice(at, (at += 100))) : reject?.(new DOMException('No.')),
      };
    },
    getDirectory() {},
    getFile() {},
  });
  const entryOf = (name: string, kind: 'file' | 'folder'): Pick<FileSystemEntry, keyof FileSystemEntry> => ({
    name,
    fullPath: `/${name}`,
    isFile: kind === 'file',
    isDirectory: kind === 'folder',
    filesystem: { name: '', root: null as never },
    getParent() {},
  });

  it('keep their structure, all their files and their empty folders', async () => {
    const scene = await createUploadScene();
    const many = Array.from({ length: 130 }, (_, at) => file(`${at}.txt`, `${at}`));
    const box = folder('box', [
      folder('many', many),
      folder('deep', [folder('er', [file('x.txt', 'x')])]),
      folder('empty', [folder('inside', [])]),
    ]);
    const found: (number | null)[] = [];
    const stop = effect(() => void found.push(scene.uploads.filesFound.value));
    await scene.uploads.addDropped({ files: [new File(['s'], 'single.txt')], entries: [{ entry: box }] }, '');
    stop();
    await scene.idle();
    assert.equal(scene.result(), '132 files uploaded');
    assert.equal(scene.stored.size, 133);
    assert.equal(scene.stored.get('box/many/129.txt'), '129');
    assert.equal(scene.stored.get('box/deep/er/x.txt'), 'x');
    assert.equal(scene.stored.get('box/empty/inside/'), '');
    assert.equal(scene.stored.get('single.txt'), 's');
    assert.deepEqual([found[0], found.at(-1)], [null, null]);
    assert.ok(found.includes(131));
  });

  it('create no empty folders where the user can’t see the folder', async () => {
    const scene = await createUploadScene({ permissions: ['write'] });
    const box = folder('box', [file('a.txt', 'a'), folder('empty', [])]);
    await scene.uploads.addDropped({ files: [], entries: [{ entry: box }] }, '');
    await scene.idle();
    assert.deepEqual([...scene.stored.keys()], ['box/a.txt']);
  });

  it('of several drops are counted together until each drop is read', async () => {
    const scene = await createUploadScene();
    const counts: (number | null)[] = [];
    const reads = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const drops = reads.map(({ promise }, index) => {
      const names = Array.from({ length: 3 + index }, (_, at) => `${at}.txt`);
      return folder(`box ${index}`, [
        ...names.map((name) => file(name, name)),
        folder('last', [file('slow.txt', '', promise)]),
      ]);
    });
    const adding = drops.map((entry) => scene.uploads.addDropped({ files: [], entries: [{ entry }] }, ''));
    await scene.when(() => scene.uploads.filesFound.value === 7);
    for (const [index, { resolve }] of reads.entries()) {
      resolve();
      await adding[index];
      counts.push(scene.uploads.filesFound.value);
    }
    assert.deepEqual(counts, [4, null]);
    await scene.idle();
  });

  it('are uploaded without the files that the browser can’t read, which a message names', async () => {
    const scene = await createUploadScene();
    const box = folder('box', [file('gone.txt', new Error('Gone.')), file('a.txt', 'a')]);
    await scene.uploads.addDropped({ files: [], entries: [{ entry: box }] }, 'in/');
    await scene.idle();
    assert.deepEqual([...scene.stored.keys()], ['in/box/a.txt']);
    const [message] = scene.messages.shown.value;
    assert.equal(message?.text, 'Couldn’t read 1 item, so it won’t be uploaded.');
    assert.equal(message.detail, 'gone.txt');
  });

  it('are not uploaded in part when the browser can’t read all of their entries', async () => {
    const scene = await createUploadScene();
    const many = Array.from({ length: 130 }, (_, at) => file(`${at}.txt`, `${at}`));
    const box = folder('box', [file('a.txt', 'a'), folder('broken', many, 100)]);
    await scene.uploads.addDropped({ files: [], entries: [{ entry: box }] }, '');
    await scene.idle();
    assert.deepEqual([...scene.stored.keys()], ['box/a.txt']);
    assert.equal(scene.messages.shown.value[0]?.detail, 'broken');
  });
});

describe('Uploads after the session has expired', () => {
  const six = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`new ${at}.txt`, `${at}`]));

  /** A service that requires a session, and an account that signs in if `isWilling` returns true. */
  function expired(isWilling: () => boolean) {
    const signInCount = signal(0);
    let isSignedIn = false;
    let dialogs = 0;
    let openDialog: Promise<boolean> | undefined;
    const showDialog = async () => {
      dialogs += 1;
      if (!isWilling()) return false;
      isSignedIn = true;
      signInCount.value += 1;
      return true;
    };
    const reauthenticate = () => {
      openDialog ??= Promise.resolve().then(showDialog);
      return openDialog;
    };
    const account = testAccount({ signInCount, reauthenticate });
    const shown = signal('');
    const permissions = createPermissions({ isReadOnly: false, isControlled: false, isAnonymous: () => false, shown });
    const override = (service: Service): Partial<Service> => {
      const guarded: Service = {
        ...service,
        upload: (upload) =>
          isSignedIn ? service.upload(upload) : Promise.reject(refusal('sign-in-required', 'Sign in to upload files.')),
      };
      const readUser = async () => (isSignedIn ? 'ann' : null);
      return withReauth(guarded, { account, permissions, shown, onChange() {}, readUser });
    };
    const closeDialog = () => {
      openDialog = undefined;
    };
    return { override, dialogs: () => dialogs, closeDialog };
  }

  it('continue when the user signs in, after one dialog for all', async () => {
    const { override, dialogs } = expired(() => true);
    const scene = await createUploadScene({ override });
    scene.add(six);
    await scene.idle();
    assert.equal(scene.result(), '6 files uploaded');
    assert.equal(scene.stored.get('new 5.txt'), '5');
    assert.equal(dialogs(), 1);
  });

  it('fail with the message of the service when the user declines, until Retry shows the dialog again', async () => {
    let isWilling = false;
    const { override, dialogs, closeDialog } = expired(() => isWilling);
    const scene = await createUploadScene({ override });
    scene.add(six);
    await scene.idle();
    assert.equal(scene.result(), '6 failed');
    assert.equal(scene.statusOf('new 0.txt'), 'Sign in to continue.');
    assert.equal(dialogs(), 1);
    isWilling = true;
    closeDialog();
    assert.equal(scene.retryable(), 6);
    scene.uploads.retryAll();
    await scene.idle();
    assert.equal(scene.result(), '6 files uploaded');
  });
});

describe('A failed upload', () => {
  it('can be retried unless the same request fails again', async () => {
    const retryable = async (error: ServiceError) => {
      const override = uploadBy(async () => {
        throw error;
      });
      const scene = await createUploadScene({ override });
      scene.add({ 'a.txt': 'a' });
      await scene.idle();
      return scene.retryable();
    };
    const unreadable = new ServiceError(400, 'The file is unreadable.', { code: 'file-unreadable' });
    for (const code of ['read-only', 'invalid-path', 'unsupported', 'upload-too-large', 'link-not-found'] as const) {
      assert.equal(await retryable(refusal(code, '')), 0, code);
    }
    assert.equal(await retryable(unreadable), 0);
    for (const code of ['store-full', 'incomplete-body', 'sender-required', 'link-password-required'] as const) {
      assert.equal(await retryable(refusal(code, '')), 1, code);
    }
  });
});

describe('The permission to write', () => {
  it('is required to retry an upload that was rejected because of missing permissions', async () => {
    for (const [permissions, retryable] of [
      [['read'], 0],
      [['read', 'write'], 1],
    ] as const) {
      const override = uploadBy(() =>
        Promise.reject(refusal('permission-denied', 'You can’t add files to this folder.')),
      );
      const scene = await createUploadScene({ permissions, override });
      void scene.uploads.add([fileToUpload('a.txt', 'a')], []);
      await scene.idle();
      assert.equal(scene.result(), '1 failed');
      assert.equal(scene.retryable(), retryable);
    }
  });
});
