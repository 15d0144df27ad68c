import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { noResponse, ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createChangeScene, settle } from './change-scene.ts';
import { when } from './folder-scene.ts';
import { refusal } from './service-errors.ts';

/** Returns a function that fails at the first call. */
const failOnce = <Arguments extends readonly unknown[], Result>(
  error: ServiceError,
  call: (...args: Arguments) => Promise<Result>,
) => {
  let calls = 0;
  return async (...args: Arguments): Promise<Result> => {
    if (++calls === 1) throw error;
    return call(...args);
  };
};

describe('Changes', () => {
  // The timers of messages and progress take no real time.
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  describe('A rename', () => {
    it('opens the name field again with the typed name when the name was taken meanwhile', async () => {
      const scene = await createChangeScene({ files: { 'cat.txt': 'mine' } });
      scene.stored.set('dog.txt', 'other');
      await scene.rename('cat.txt', 'dog.txt');
      assert.equal(scene.renaming.value, 'cat.txt');
      assert.equal(scene.draft.value?.name, 'dog.txt');
      assert.equal(scene.draft.value?.problem, 'This name is already taken.');
      assert.deepEqual(scene.shown(), ['cat.txt', 'dog.txt']);
      assert.equal(scene.stored.get('dog.txt'), 'other');
    });

    it('opens the name field again with the reason when a folder has the name of the file', async () => {
      const rename = () => Promise.reject(refusal('wrong-kind', 'A folder has this name.'));
      const scene = await createChangeScene({ files: { 'cat.txt': 'mine' }, override: () => ({ rename }) });
      await scene.rename('cat.txt', 'dog.txt');
      assert.equal(scene.draft.value?.problem, 'A file and a folder can’t have the same name.');
    });

    it('is recognized as complete when its response was lost', async () => {
      const scene = await createChangeScene({
        files: { 'cat.txt': 'cat', 'photos/1.jpg': '1' },
        override: ({ rename }) => ({
          async rename(...args) {
            await rename(...args);
            throw new ServiceError(0, '');
          },
        }),
      });
      await scene.rename('cat.txt', 'dog.txt');
      await scene.rename('photos/', 'pictures');
      assert.deepEqual(scene.shown(), ['pictures/', 'dog.txt']);
      assert.deepEqual(scene.shownTexts(), ['“cat.txt” renamed to “dog.txt”', '“photos” renamed to “pictures”']);
    });

    it('fails when its response was lost and the service did not make it', async () => {
      const rename = () => Promise.reject(new ServiceError(0, ''));
      const scene = await createChangeScene({ files: { 'cat.txt': 'cat' }, override: () => ({ rename }) });
      await scene.rename('cat.txt', 'dog.txt');
      assert.deepEqual(scene.shown(), ['cat.txt']);
      assert.match(scene.shownTexts().join('\n'), /Can’t reach the server/);
    });

    it('is undone by the button of its message', async () => {
      const scene = await createChangeScene({ files: { 'cat.txt': 'mine' } });
      await scene.rename('cat.txt', 'dog.txt');
      assert.deepEqual(scene.shown(), ['dog.txt']);
      scene.press('Undo');
      await settle();
      assert.deepEqual([scene.shown(), [...scene.stored.keys()]], [['cat.txt'], ['cat.txt']]);
    });

    it('changes the path of a cut file', async () => {
      const scene = await createChangeScene({ files: { 'cat.txt': 'mine' } });
      scene.clipboard.put({ kind: 'move', paths: ['cat.txt'] });
      await scene.rename('cat.txt', 'dog.txt');
      assert.deepEqual(scene.clipboard.clip.value?.paths, ['dog.txt']);
    });
  });

  describe('A deletion', () => {
    it('does not start when the rename before it failed, and its message gives the reason', async () => {
      const gate = Promise.withResolvers<void>();
      const scene = await createChangeScene({
        files: { 'draft.md': 'mine' },
        override: ({ rename }) => ({ rename: (...args) => gate.promise.then(() => rename(...args)) }),
      });
      scene.stored.set('notes.md', 'other');
      const renamed = scene.rename('draft.md', 'notes.md');
      const removed = scene.remove('notes.md');
      await settle();
      assert.deepEqual(scene.shown(), []);
      gate.resolve();
      await Promise.all([renamed, removed]);
      assert.deepEqual(scene.shownTexts(), [
        'Couldn’t delete “notes.md” Not started, because an earlier change failed.',
      ]);
      assert.deepEqual(
        [...scene.stored],
        [
          ['draft.md', 'mine'],
          ['notes.md', 'other'],
        ],
      );
      await settle();
      assert.deepEqual(scene.shown(), ['draft.md', 'notes.md']);
    });

    it('of several files shows only the failed ones again', async () => {
      const scene = await createChangeScene({
        files: { 'a.txt': '', 'b.txt': '' },
        override: ({ remove }) => ({
          remove: async (path) => {
            if (path === 'b.txt') throw refusal('internal-error', 'Not this one.');
            return remove(path);
          },
        }),
      });
      await scene.remove('a.txt', 'b.txt');
      assert.deepEqual(scene.shownTexts(), [
        '“a.txt” deleted',
        'Couldn’t delete 1 of 2 items Something went wrong on the server. Try again in a moment.',
      ]);
      assert.deepEqual([scene.shown(), [...scene.stored.keys()]], [['b.txt'], ['b.txt']]);
    });

    it('succeeds for a 404 of the service, and fails for a 404 of a proxy', async () => {
      const behindProxy = await createChangeScene({
        files: { 'cat.txt': '' },
        override: ({ remove }) => ({ remove: failOnce(new ServiceError(404, 'No such route'), remove) }),
      });
      await behindProxy.remove('cat.txt');
      assert.match(behindProxy.shownTexts().join(), /Couldn’t delete “cat.txt”/);
      assert.deepEqual(behindProxy.shown(), ['cat.txt']);
      const direct = await createChangeScene({
        files: { 'cat.txt': '' },
        override: ({ remove }) => ({ remove: failOnce(refusal('not-found', 'There is no file "cat.txt".'), remove) }),
      });
      await direct.remove('cat.txt');
      assert.deepEqual(direct.shownTexts(), ['“cat.txt” deleted']);
    });

    it('is not reverted by a listing that was requested before and arrives later', async () => {
      const gate = Promise.withResolvers<void>();
      let isHeld = false;
      const scene = await createChangeScene({
        files: { 'cat.txt': '', 'dog.txt': '' },
        override: ({ list }) => ({
          async list(...args) {
            const listing = await list(...args);
            if (isHeld) await gate.promise;
            return listing;
          },
        }),
      });
      isHeld = true;
      void scene.folder.refresh();
      await settle();
      scene.stored.set('new.txt', '');
      await scene.remove('cat.txt');
      gate.resolve();
      await settle();
      assert.ok(!scene.shown().includes('cat.txt'), scene.shown().join());
      isHeld = false;
      void scene.folder.refresh();
      await settle();
      assert.deepEqual(scene.shown(), ['dog.txt', 'new.txt']);
    });
  });

  describe('A transfer', () => {
    it('replaces no folder when the user chose to replace all files', async () => {
      const asked: string[] = [];
      const taken = { 'to/a.txt': 'old', 'to/b.txt': 'old', 'to/photos/precious.jpg': 'precious' };
      const scene = await createChangeScene({
        files: { 'a.txt': 'new', 'b.txt': 'new', 'photos/cat.jpg': 'cat', ...taken },
        prompts: {
          async resolveConflict({ name, kinds }) {
            asked.push(name);
            return kinds.incoming === 'folder'
              ? { decision: 'skip', forAll: false }
              : { decision: 'replace', forAll: true };
          },
        },
      });
      await scene.transfer('copy', ['a.txt', 'b.txt', 'photos/'], 'to/');
      assert.deepEqual(asked, ['a.txt', 'photos']);
      assert.deepEqual(scene.shownTexts(), ['2 items copied to “to”']);
      assert.equal(scene.stored.get('to/b.txt'), 'new');
      assert.equal(scene.stored.get('to/photos/precious.jpg'), 'precious');
      assert.equal(scene.stored.get('to/photos/cat.jpg'), undefined);
    });

    it('deletes the earlier versions of a replaced file if the user wants that, also after a lost response', async () => {
      const sent: string[] = [];
      let isLost = true;
      const scene = await createChangeScene({
        files: { 'a.txt': 'new', 'to/a.txt': 'old' },
        override: ({ transfer }) => ({
          async transfer(...options) {
            const changed = await transfer(...options);
            if (isLost) throw noResponse();
            return changed;
          },
          async send<Body>(endpoint: string) {
            sent.push(endpoint);
            return {} as Body;
          },
        }),
        prompts: { resolveConflict: async () => ({ decision: 'replace-with-versions', forAll: false }) },
      });
      await scene.transfer('move', ['a.txt'], 'to/');
      assert.deepEqual(sent, []);
      isLost = false;
      scene.press('Retry');
      await when(() => scene.shownTexts().some((text) => text === '“a.txt” moved to “to”'));
      assert.deepEqual(sent, ['-/versions/to/a.txt']);
      assert.deepEqual(scene.undos.value, []);
    });

    it('asks about each conflict until the decision is for all', async () => {
      const asked: string[] = [];
      const scene = await createChangeScene({
        files: {
          'a.txt': 'a',
          'b.txt': 'b',
          'c.txt': 'c',
          'd.txt': 'd',
          'to/a.txt': '1',
          'to/b.txt': '2',
          'to/c.txt': '3',
        },
        prompts: {
          async resolveConflict({ name }) {
            asked.push(name);
            return asked.length === 1 ? { decision: 'skip', forAll: false } : { decision: 'keep-both', forAll: true };
          },
        },
      });
      await scene.transfer('move', ['a.txt', 'b.txt', 'c.txt', 'd.txt'], 'to/');
      const [skipped = '', second = ''] = asked;
      assert.equal(asked.length, 2);
      assert.notEqual(skipped, second);
      assert.deepEqual(scene.shownTexts(), ['3 items moved to “to”']);
      const kept = ['a', 'b', 'c'].filter((name) => `${name}.txt` !== skipped);
      for (const name of kept) assert.equal(scene.stored.get(`to/${name} (2).txt`), name);
      assert.deepEqual(
        [...scene.stored.keys()].filter((path) => !path.includes('/')),
        [skipped],
      );
    });

    it('fails without a question when the destination folder became a file', async () => {
      const scene = await createChangeScene({
        files: { 'a.txt': 'a', 'to/b.txt': 'b' },
        override: () => ({
          async list() {
            throw refusal('not-found', 'The folder "to/" does not exist.');
          },
          async transfer() {
            throw refusal('wrong-kind', 'The path "to/" needs a folder, but "to" is a file.');
          },
        }),
      });
      await scene.transfer('move', ['a.txt'], 'to/');
      assert.deepEqual(scene.shownTexts(), ['Couldn’t move “a.txt” A file and a folder can’t have the same name.']);
    });

    it('tries at most 100 names for a file when the user keeps both', async () => {
      const tried = new Set<string>();
      const scene = await createChangeScene({
        files: { 'a.txt': 'a', 'to/': '' },
        prompts: { resolveConflict: async () => ({ decision: 'keep-both', forAll: false }) },
        override: () => ({
          async transfer(_kind, _source, destination) {
            tried.add(destination);
            assert.ok(tried.size < 1000, 'The transfer tries names forever.');
            throw refusal('wrong-kind', 'The folder takes no files.');
          },
        }),
      });
      await scene.transfer('copy', ['a.txt'], 'to/');
      assert.equal(tried.size, 101);
      assert.deepEqual(scene.shownTexts(), ['Couldn’t copy “a.txt” A file and a folder can’t have the same name.']);
    });

    it('can be retried after the user has freed space in the storage', async () => {
      const scene = await createChangeScene({
        files: { 'a.txt': 'a', 'to/': '' },
        override: ({ transfer }) => ({ transfer: failOnce(refusal('store-full', 'No space left.'), transfer) }),
      });
      await scene.transfer('copy', ['a.txt'], 'to/');
      scene.press('Retry');
      await settle();
      assert.equal(scene.stored.get('to/a.txt'), 'a');
    });

    for (const kind of ['copy', 'move'] as const) {
      it(`recognizes a completed ${kind} at the retry when its response was lost`, async () => {
        let calls = 0;
        const scene = await createChangeScene({
          files: { 'report.pdf': 'report', 'photos/cat.txt': 'cat' },
          override: ({ transfer }) => ({
            async transfer(...args) {
              const changed = await transfer(...args);
              if (++calls === 1) throw new ServiceError(0, '');
              return changed;
            },
          }),
        });
        await scene.transfer(kind, ['report.pdf'], 'photos/');
        scene.press('Retry');
        await settle();
        assert.equal(calls, 1);
        assert.deepEqual(scene.shownTexts(), [`“report.pdf” ${kind === 'copy' ? 'copied' : 'moved'} to “photos”`]);
        assert.equal(scene.stored.has('report.pdf'), kind === 'copy');
        assert.equal(scene.stored.get('photos/report.pdf'), 'report');
      });
    }

    it('is complete, without Undo, when the user cancelled after the service had moved the folder under another name', async () => {
      const files = { 'sub/new.txt': 'new', 'to/sub/old.txt': 'old' };
      const scene = await createChangeScene({
        files,
        prompts: { resolveConflict: async () => ({ decision: 'keep-both', forAll: false }) },
        override: ({ transfer }) => ({
          async transfer(kind, source, destination, options) {
            const changed = await transfer(kind, source, destination, options);
            if (!destination.includes('(2)')) return changed;
            // The service has moved the folder when the user cancels.
            mock.timers.tick(1_000);
            for (const operation of scene.running.value) operation.cancel();
            options?.signal?.throwIfAborted();
            return changed;
          },
        }),
      });
      await scene.transfer('move', ['sub/'], 'to/');
      assert.deepEqual(scene.shownTexts(), ['“sub” moved to “to”']);
      assert.ok(scene.stored.has('to/sub (2)/new.txt'));
      assert.deepEqual(scene.undos.value, []);
    });

    it('keeps the copy of a cancelled folder visible until the service has removed it', async () => {
      const scene = await createChangeScene({
        files: { 'many/x.txt': 'x', 'to/': '' },
        override: ({ transfer }) => ({
          async transfer(kind, source, destination, options) {
            const changed = await transfer(kind, source, destination);
            mock.timers.tick(1_000);
            for (const operation of scene.running.value) operation.cancel();
            options?.signal?.throwIfAborted();
            return changed;
          },
        }),
      });
      await scene.open('to/');
      await scene.transfer('copy', ['many/'], 'to/');
      assert.deepEqual(scene.shownTexts(), [
        'Copy cancelled. 0 of 1 item copied. Removing the incomplete copy of “many”…',
      ]);
      await settle();
      mock.timers.tick(500);
      await settle();
      await scene.folder.refresh();
      assert.deepEqual(scene.shown(), ['to/many/']);
      scene.stored.delete('to/many/x.txt');
      mock.timers.tick(500);
      await settle();
      assert.deepEqual(scene.shown(), []);
      assert.deepEqual([...scene.stored.keys()], ['many/x.txt', 'to/']);
    });

    it('mentions no incomplete copy of a cancelled folder if the service has removed it', async () => {
      const scene = await createChangeScene({
        files: { 'many/x.txt': 'x', 'to/': '' },
        override: () => ({
          async transfer(_kind, _source, _destination, options) {
            await settle();
            mock.timers.tick(1_000);
            for (const operation of scene.running.value) operation.cancel();
            options?.signal?.throwIfAborted();
            return {};
          },
        }),
      });
      await scene.transfer('copy', ['many/'], 'to/');
      assert.deepEqual(scene.shownTexts(), ['Copy cancelled. 0 of 1 item copied.']);
    });

    it('shows a file again when the service rejects its move after the user opened another folder', async () => {
      const gate = Promise.withResolvers<void>();
      const scene = await createChangeScene({
        files: { 'dog.txt': 'mine', 'photos/cat.txt': '' },
        override: ({ transfer }) => {
          const failing = failOnce(refusal('unavailable', 'The disk is asleep.'), transfer);
          return { transfer: (...args) => gate.promise.then(() => failing(...args)) };
        },
      });
      await scene.open('photos/');
      const moved = scene.transfer('move', ['dog.txt'], 'photos/');
      assert.ok(scene.shown().includes('photos/dog.txt'));
      await scene.open('');
      assert.ok(!scene.shown().includes('dog.txt'));
      gate.resolve();
      await moved;
      assert.ok(scene.shown().includes('dog.txt'));
      assert.deepEqual(scene.shownTexts(), [
        'Couldn’t move “dog.txt” The server isn’t available right now. Try again in a moment.',
      ]);
      scene.press('Retry');
      await settle();
      assert.deepEqual(scene.shownTexts(), ['“dog.txt” moved to “photos”']);

      scene.stored.set('dog.txt', 'other');
      scene.press('Undo');
      await settle();
      assert.match(scene.shownTexts().join(), /Couldn’t undo/);
      assert.deepEqual([scene.stored.get('dog.txt'), scene.stored.get('photos/dog.txt')], ['other', 'mine']);
    });
  });
});
