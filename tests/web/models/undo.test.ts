import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { restoreFileVersion } from '../../../web/src/model/changes/restore-version.ts';
import type { FileEntry, Service } from '../../../web/src/platform/service/service.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { type ChangeScene, type ChangeSceneOptions, createChangeScene, settle } from './change-scene.ts';
import { refusal } from './service-errors.ts';

const undoLast = async ({ undos }: ChangeScene) => {
  undos.value.at(-1)?.();
  await settle();
};

const redoLast = async ({ redos }: ChangeScene) => {
  redos.value.at(-1)?.();
  await settle();
};

/** Returns a service whose requests to undo pass through `undo`. */
const overrideUndo =
  (undo: (send: () => Promise<unknown>, change: string) => Promise<unknown>): ChangeSceneOptions['override'] =>
  ({ send }) => ({
    send: (async (endpoint, options) => {
      const { change = '' } = (options?.body ?? {}) as { change?: string };
      return undo(() => send(endpoint, options), change);
    }) as Service['send'],
  });

describe('Undo', () => {
  // The timers of messages and progress take no real time.
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const changes: Record<string, (scene: ChangeScene) => Promise<unknown>> = {
    'a new folder': ({ createFolder }) => createFolder(),
    'a copy': ({ transfer }) => transfer('copy', ['cat.txt', 'photos/'], 'to/'),
    'a copy that replaces': ({ transfer }) => transfer('copy', ['dog.txt'], 'to/'),
    'a move': ({ transfer }) => transfer('move', ['cat.txt', 'photos/'], 'to/'),
    'a move that replaces': ({ transfer }) => transfer('move', ['dog.txt'], 'to/'),
    'a rename of a folder': ({ rename }) => rename('photos/', 'pictures'),
  };
  for (const [title, change] of Object.entries(changes)) {
    it(`restores the state before ${title}, and a redo the state after it`, async () => {
      const files = { 'cat.txt': 'cat', 'dog.txt': 'dog', 'photos/1.jpg': '1', 'to/dog.txt': 'other' };
      const scene = await createChangeScene({
        files,
        hasTrash: true,
        prompts: {
          promptName: async () => 'new',
          resolveConflict: async () => ({ decision: 'replace', forAll: false }),
        },
      });
      await change(scene);
      const after = Object.fromEntries(scene.stored);
      const shownAfter = scene.shown();
      assert.notDeepEqual(after, files);
      await undoLast(scene);
      assert.deepEqual(Object.fromEntries(scene.stored), files);
      assert.deepEqual(scene.shown(), ['photos/', 'to/', 'cat.txt', 'dog.txt']);
      assert.deepEqual([scene.undos.value.length, scene.redos.value.length], [0, 1]);
      await redoLast(scene);
      assert.deepEqual([Object.fromEntries(scene.stored), scene.shown()], [after, shownAfter]);
      await undoLast(scene);
      assert.deepEqual(Object.fromEntries(scene.stored), files);
    });
  }

  describe('while a change is in progress', () => {
    /** A scene in which `a` is renamed to `b`, and then to `c`: that request waits for the gate. */
    const createSlowScene = async () => {
      const gate = Promise.withResolvers<void>();
      const scene = await createChangeScene({
        files: { a: 'mine', other: '' },
        override: ({ rename }) => ({
          async rename(path, newName, options) {
            if (newName === 'c') await gate.promise;
            return rename(path, newName, options);
          },
        }),
      });
      await scene.rename('a', 'b');
      const renaming = scene.rename('b', 'c');
      const finish = async () => {
        gate.resolve();
        await renaming;
        await settle();
      };
      return { ...scene, gate, finish };
    };
    const paths = ({ stored }: ChangeScene) => [...stored.keys()].toSorted();

    it('waits for its end, and does not undo the change before it', async () => {
      const scene = await createSlowScene();
      await undoLast(scene);
      assert.deepEqual(
        [paths(scene), scene.shown()],
        [
          ['b', 'other'],
          ['c', 'other'],
        ],
      );
      mock.timers.tick(1_000);
      assert.deepEqual(scene.shownTexts().at(-1), 'Waiting for the last change to finish');
      await scene.finish();
      assert.deepEqual(
        [paths(scene), scene.shown()],
        [
          ['b', 'other'],
          ['b', 'other'],
        ],
      );
      assert.deepEqual([scene.undos.value.length, scene.redos.value.length], [1, 1]);
      const said = ['“a” renamed to “b”', 'Undone: “b” renamed to “c”'];
      assert.deepEqual(scene.shownTexts(), said, 'The messages of the change have no button left.');
      await redoLast(scene);
      assert.deepEqual(paths(scene), ['c', 'other']);
    });

    it('twice undoes the change before it afterwards', async () => {
      const scene = await createSlowScene();
      await undoLast(scene);
      await undoLast(scene);
      assert.deepEqual(paths(scene), ['b', 'other']);
      await scene.finish();
      assert.deepEqual(
        [paths(scene), scene.shown()],
        [
          ['a', 'other'],
          ['a', 'other'],
        ],
      );
      assert.deepEqual([scene.undos.value.length, scene.redos.value.length], [0, 2]);
    });

    it('undoes a later change at once', async () => {
      const scene = await createSlowScene();
      await scene.rename('other', 'another');
      await undoLast(scene);
      assert.deepEqual(paths(scene), ['b', 'other']);
      await scene.finish();
      assert.deepEqual(paths(scene), ['c', 'other']);
      await undoLast(scene);
      assert.deepEqual(paths(scene), ['b', 'other']);
    });

    it('undoes nothing when the change fails', async () => {
      const scene = await createSlowScene();
      await undoLast(scene);
      scene.gate.reject(refusal('internal-error', 'Something went wrong.'));
      await settle();
      assert.deepEqual(
        [paths(scene), scene.shown()],
        [
          ['b', 'other'],
          ['b', 'other'],
        ],
      );
      await undoLast(scene);
      assert.deepEqual(paths(scene), ['a', 'other']);
    });

    it('is cancelled by a redo', async () => {
      const scene = await createSlowScene();
      await undoLast(scene);
      await redoLast(scene);
      await scene.finish();
      assert.deepEqual([paths(scene), scene.undos.value.length, scene.redos.value.length], [['c', 'other'], 2, 0]);
    });
  });

  it('that is in progress is redone once it has ended', async () => {
    const gate = Promise.withResolvers<void>();
    const scene = await createChangeScene({
      files: { a: '', b: '' },
      override: overrideUndo(async (send, change) => {
        if (change === 'change-1') await gate.promise;
        return send();
      }),
    });
    await scene.rename('a', 'one');
    await scene.rename('b', 'two');
    await undoLast(scene);
    await undoLast(scene);
    assert.deepEqual([...scene.stored.keys()].toSorted(), ['b', 'one']);
    await redoLast(scene);
    assert.deepEqual([...scene.stored.keys()].toSorted(), ['b', 'one'], 'The older undo is not redone.');
    gate.resolve();
    await settle();
    assert.deepEqual([[...scene.stored.keys()].toSorted(), scene.redos.value.length], [['b', 'one'], 1]);
  });

  it('of a folder that needs a trash is not offered without one', async () => {
    const scene = await createChangeScene({
      files: { 'photos/1.jpg': '1', 'to/': '', 'other/photos/2.jpg': '2' },
      prompts: { resolveConflict: async () => ({ decision: 'replace', forAll: false }) },
    });
    await scene.transfer('copy', ['photos/'], 'to/');
    await scene.transfer('move', ['photos/'], 'other/');
    assert.deepEqual([scene.stored.has('other/photos/1.jpg'), scene.undos.value], [true, []]);
  });

  it('of a restored version undoes the change of the response', async () => {
    const undone: string[] = [];
    const scene = await createChangeScene({
      files: { 'cat.txt': 'cat' },
      override: () => ({
        send: (async (endpoint: string, { body }: { body: { change: string } }) => {
          if (endpoint === '-/undo') undone.push(body.change);
          return { change: 'restored-version' };
        }) as unknown as Service['send'],
      }),
    });
    await restoreFileVersion(scene.context, scene.folder.entryOf('cat.txt') as FileEntry, '1');
    scene.press('Undo');
    await settle();
    assert.deepEqual(undone, ['restored-version']);
  });

  it('is not offered while the change log is unavailable', async () => {
    const scene = await createChangeScene({
      files: { 'cat.txt': 'cat' },
      override: ({ rename }) => ({ rename: async (...args) => ({ path: (await rename(...args)).path }) }),
    });
    await scene.rename('cat.txt', 'dog.txt');
    assert.deepEqual(scene.undos.value, []);
    assert.throws(() => scene.press('Undo'));
  });

  it('of many items starts with the last one, and sends at most four requests at once', async () => {
    const started: string[] = [];
    const gates: (() => void)[] = [];
    const paths = ['a', 'b', 'c', 'd', 'e', 'f'];
    const scene = await createChangeScene({
      files: { 'to/': '', ...Object.fromEntries(paths.map((path) => [path, path])) },
      override: overrideUndo(async (send, change) => {
        started.push(change);
        await new Promise<void>((resolve) => gates.push(resolve));
        return send();
      }),
    });
    await scene.transfer('move', paths, 'to/');
    await undoLast(scene);
    assert.deepEqual(started, ['change-6', 'change-5', 'change-4', 'change-3']);
    assert.deepEqual(scene.shown(), ['to/', ...paths], 'The items are shown at once.');
    while (started.length < paths.length || gates.length > 0) {
      gates.shift()?.();
      await settle();
    }
    assert.deepEqual(
      paths.map((path) => scene.stored.get(path)),
      paths,
    );
  });

  it('of a new folder waits until what was added to it later is undone', async () => {
    const started: string[] = [];
    const gate = Promise.withResolvers<void>();
    const scene = await createChangeScene({
      files: {},
      override: overrideUndo(async (send, change) => {
        started.push(change);
        if (change === 'change-2') await gate.promise;
        return send();
      }),
    });
    const { service, offerUndo } = scene.context;
    const options = { signal: AbortSignal.timeout(60_000), onProgress: () => {}, replace: false };
    const folder = await service.createFolder('new/');
    const file = await service.upload({ ...options, file: new File(['1'], '1.txt'), folder: 'new/', name: '1.txt' });
    offerUndo(
      [
        { change: folder.change, path: 'new/', removed: ['new/'], added: [] },
        { change: file.change, path: 'new/1.txt', removed: ['new/1.txt'], added: [] },
      ],
      'Two changes',
    );
    await undoLast(scene);
    assert.deepEqual(started, ['change-2']);
    gate.resolve();
    await settle();
    assert.deepEqual([started, scene.stored.size], [['change-2', 'change-1'], 0]);
  });

  it('says in one message which changes it could not undo and why, and shows their items again', async () => {
    const errors: Record<string, ServiceError> = {
      'change-1': refusal('not-undoable', 'Changed since.'),
      'change-2': refusal('already-undone', 'Already undone.'),
      'change-3': refusal('change-not-found', 'Unknown.'),
    };
    const scene = await createChangeScene({
      files: { a: 'a', b: 'b', c: 'c', d: 'd', 'to/': '' },
      override: overrideUndo((send, change) => (errors[change] ? Promise.reject(errors[change]) : send())),
    });
    await scene.transfer('move', ['a', 'b', 'c', 'd'], 'to/');
    await undoLast(scene);
    assert.deepEqual(scene.shown(), ['to/', 'd']);
    assert.deepEqual(scene.shownTexts(), [
      [
        'Couldn’t undo 3 of 4 changes “c”: This change can’t be undone, because the server no longer has a record of it.',
        '“b”: This change is already undone.',
        '“a”: This change can’t be undone, because the items changed since or their previous content wasn’t kept.',
      ].join('\n'),
    ]);
    assert.throws(() => scene.press('Retry'), 'A retry can’t help.');
  });

  it('succeeds at the retry when the response was lost', async () => {
    let requests = 0;
    const scene = await createChangeScene({
      files: { 'cat.txt': 'cat' },
      override: overrideUndo(async (send) => {
        const undone = await send();
        if (++requests === 1) throw new ServiceError(0, '');
        return undone;
      }),
    });
    await scene.rename('cat.txt', 'dog.txt');
    await undoLast(scene);
    scene.press('Retry');
    await settle();
    assert.deepEqual([scene.shown(), [...scene.stored.keys()]], [['cat.txt'], ['cat.txt']]);
    assert.deepEqual(scene.shownTexts(), ['Undone: “cat.txt” renamed to “dog.txt”']);
  });

  it('names what it undid and redid, with a button for the opposite until a new change is made', async () => {
    const scene = await createChangeScene({ files: { 'cat.txt': 'cat' } });
    await scene.rename('cat.txt', 'dog.txt');
    await undoLast(scene);
    assert.deepEqual(scene.shownTexts(), ['Undone: “cat.txt” renamed to “dog.txt”']);
    scene.press('Redo');
    await settle();
    assert.deepEqual([...scene.stored.keys()], ['dog.txt']);
    assert.deepEqual(scene.shownTexts(), ['Redone: “cat.txt” renamed to “dog.txt”']);
    scene.press('Undo');
    await settle();
    assert.deepEqual([...scene.stored.keys()], ['cat.txt']);
    await scene.rename('cat.txt', 'cow.txt');
    assert.deepEqual(scene.shownTexts(), ['“cat.txt” renamed to “cow.txt”']);
    assert.equal(scene.redos.value.length, 0);
  });

  it('can be cancelled and continued', async () => {
    const scene = await createChangeScene({
      files: { 'a/1': '1', 'b/1': '1', 'to/': '' },
      override: overrideUndo(async (send, change) => {
        if (change !== 'change-1' || scene.running.value.length > 0) return send();
        mock.timers.tick(1_000);
        for (const operation of scene.running.value) operation.cancel();
        throw new DOMException('Cancelled.', 'AbortError');
      }),
    });
    await scene.transfer('move', ['a/', 'b/'], 'to/');
    await undoLast(scene);
    assert.deepEqual(scene.shownTexts(), ['Undo cancelled. 1 of 2 changes undone.']);
    assert.deepEqual(scene.shown(), ['b/', 'to/']);
    scene.undos.value.at(-1)?.();
    mock.timers.tick(500);
    await settle();
    assert.deepEqual(scene.shown(), ['a/', 'b/', 'to/']);
  });

  it('of a change that the user makes after an undo leaves no redo', async () => {
    const scene = await createChangeScene({ files: { 'cat.txt': 'cat' } });
    await scene.rename('cat.txt', 'dog.txt');
    await undoLast(scene);
    await scene.rename('cat.txt', 'owl.txt');
    assert.deepEqual(scene.redos.value, []);
  });
});
