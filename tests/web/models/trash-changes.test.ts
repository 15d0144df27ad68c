import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { empty, purge, restore } from '../../../web/src/model/trash/trash-changes.ts';
import type { OperationOptions } from '../../../web/src/platform/service/jobs.ts';
import { type ChangeSceneOptions, createChangeScene, settle } from './change-scene.ts';
import { refusal } from './service-errors.ts';
import { withTrash } from './trash-service.ts';

/** The changes of a page on a service with a trash. Questions fail the test. */
async function createTrashScene({ files, override, ...options }: ChangeSceneOptions) {
  let service: ReturnType<typeof withTrash> | undefined;
  const scene = await createChangeScene({
    hasTrash: true,
    prompts: { confirmDelete: () => assert.fail('Unexpected question.') },
    files,
    ...options,
    override: (memory, stored, record) => {
      service = withTrash(memory, stored, record);
      return { ...service, ...override?.(service, stored, record) };
    },
  });
  return { ...scene, trash: service?.trash ?? [] };
}

/** The reason of `not-undoable`. */
const NOT_UNDOABLE =
  'This change can’t be undone, because the items changed since or their previous content wasn’t kept.';

describe('Changes with a trash', () => {
  // The timers of messages and progress take no real time.
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('moves entries to the trash without a question, and restores them by the button of the message', async () => {
    const scene = await createTrashScene({ files: { 'photos/cat.txt': 'cat', 'dog.txt': 'dog', 'owl.txt': 'owl' } });
    await scene.moveToTrash('photos/', 'dog.txt');
    assert.deepEqual(scene.shownTexts(), ['2 items moved to trash']);
    assert.deepEqual([scene.shown(), [...scene.stored.keys()]], [['owl.txt'], ['owl.txt']]);
    scene.press('Undo');
    assert.deepEqual(scene.shown(), ['photos/', 'dog.txt', 'owl.txt'], 'The entries are shown at once.');
    await settle();
    assert.deepEqual(scene.shown(), ['photos/', 'dog.txt', 'owl.txt']);
    assert.deepEqual([...scene.stored.keys()].toSorted(), ['dog.txt', 'owl.txt', 'photos/cat.txt']);
    assert.equal(scene.trash.length, 0);
  });

  it('undoes changes from the last to the first, each once, and removes the button of an undone change', async () => {
    const scene = await createTrashScene({ files: { 'cat.txt': 'cat' } });
    await scene.rename('cat.txt', 'dog.txt');
    await scene.moveToTrash('dog.txt');
    assert.equal(scene.undos.value.length, 2);
    scene.undos.value.at(-1)?.();
    await settle();
    assert.deepEqual(scene.shown(), ['dog.txt']);
    assert.deepEqual(scene.shownTexts(), ['“cat.txt” renamed to “dog.txt”', 'Undone: “dog.txt” moved to trash']);
    scene.undos.value.at(-1)?.();
    await settle();
    assert.deepEqual(scene.shown(), ['cat.txt']);
    assert.deepEqual(scene.shownTexts(), [
      'Undone: “dog.txt” moved to trash',
      'Undone: “cat.txt” renamed to “dog.txt”',
    ]);
    assert.equal(scene.undos.value.length, 0);
  });

  it('restores what the undone deletion removed, of several deleted files of one path', async () => {
    const scene = await createTrashScene({ files: { 'a/x.txt': 'old' } });
    await scene.open('a/');
    await scene.moveToTrash('a/x.txt');
    scene.stored.set('a/x.txt', 'new');
    await scene.refresh();
    await scene.moveToTrash('a/x.txt');
    scene.undos.value.at(0)?.();
    await settle();
    assert.equal(scene.stored.get('a/x.txt'), 'old');
  });

  it('says that it could not undo when the name was taken meanwhile', async () => {
    const scene = await createTrashScene({ files: { 'cat.txt': 'mine' } });
    await scene.moveToTrash('cat.txt');
    scene.stored.set('cat.txt', 'other');
    scene.press('Undo');
    await settle();
    assert.deepEqual(scene.shownTexts(), [`Couldn’t undo the change to “cat.txt” ${NOT_UNDOABLE}`]);
    assert.deepEqual([scene.shown(), scene.stored.get('cat.txt')], [['cat.txt'], 'other']);
    assert.deepEqual(
      scene.trash.map(({ path }) => path),
      ['cat.txt'],
    );
  });

  it('says that it could not undo when the item was deleted permanently meanwhile', async () => {
    const scene = await createTrashScene({ files: { 'cat.txt': 'mine' } });
    await scene.moveToTrash('cat.txt');
    await purge(scene.context, scene.trash);
    scene.press('Undo');
    await settle();
    assert.equal(scene.shownTexts().at(-1), `Couldn’t undo the change to “cat.txt” ${NOT_UNDOABLE}`);
    assert.deepEqual(scene.shown(), []);
  });

  it('tries again to undo when the service was not available', async () => {
    let isDown = false;
    const scene = await createTrashScene({
      files: { 'a/cat.txt': 'mine' },
      override: ({ send }) => ({
        send: (...args) => (isDown ? Promise.reject(refusal('unavailable', 'Down.')) : send(...args)),
      }),
    });
    await scene.open('a/');
    await scene.moveToTrash('a/cat.txt');
    isDown = true;
    scene.press('Undo');
    await settle();
    assert.deepEqual(scene.shown(), []);
    isDown = false;
    scene.press('Retry');
    await settle();
    assert.deepEqual([scene.shown(), scene.stored.get('a/cat.txt')], [['a/cat.txt'], 'mine']);
  });

  it('offers to delete permanently when the item can’t be moved to the trash', async () => {
    const permanent: (boolean | undefined)[] = [];
    const scene = await createTrashScene({
      files: { 'cat.txt': 'mine' },
      prompts: { confirmDelete: async () => true },
      override: ({ remove }) => ({
        remove: async (path, options) => {
          permanent.push(options?.permanent);
          if (!options?.permanent) throw refusal('unsupported', 'On another file system.');
          return remove(path, options);
        },
      }),
    });
    await scene.moveToTrash('cat.txt');
    assert.deepEqual(scene.shown(), ['cat.txt']);
    scene.press('Delete permanently');
    await settle();
    assert.deepEqual([permanent, scene.shown(), scene.trash], [[false, true], [], []]);
    assert.deepEqual(scene.shownTexts().at(-1), '“cat.txt” deleted');
  });

  it('offers no undo to a user who can’t restore', async () => {
    const scene = await createTrashScene({ files: { 'cat.txt': 'mine' }, rights: ['read', 'manage'] });
    await scene.moveToTrash('cat.txt');
    assert.deepEqual([scene.shownTexts(), scene.undos.value], [['“cat.txt” moved to trash'], []]);
  });
});

describe('Changes of the trash', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const fill = async (override?: ChangeSceneOptions['override']) => {
    const scene = await createTrashScene({ files: { 'a.txt': 'a', 'b.txt': 'b' }, override });
    await scene.moveToTrash('a.txt', 'b.txt');
    scene.dismissAll();
    return scene;
  };

  it('restores items, and offers to show the first one in its folder', async () => {
    const scene = await fill();
    const shown: string[] = [];
    const items = [...scene.trash];
    assert.deepEqual(await restore(scene.context, items, (path) => shown.push(path)), items);
    assert.deepEqual(scene.shownTexts(), ['2 items restored']);
    scene.press('Show in folder');
    assert.deepEqual(shown, [items[0]?.path]);
    await settle();
    assert.deepEqual(scene.shown(), ['a.txt', 'b.txt']);
  });

  it('says the new name of a restored item whose name was taken, and can be undone', async () => {
    const scene = await fill();
    scene.stored.set('a.txt', 'other');
    await restore(scene.context, [...scene.trash], () => {});
    assert.deepEqual(scene.shownTexts(), [
      '“a.txt” restored as “a (2).txt” because the name was taken',
      '2 items restored',
    ]);
    scene.undos.value.at(-1)?.();
    await settle();
    assert.deepEqual([...scene.stored.keys()], ['a.txt']);
  });

  it('says which items it could not delete permanently, and returns the others', async () => {
    const scene = await fill(({ operate }) => ({
      operate: (endpoint, ...rest) =>
        endpoint.endsWith('/1') ? Promise.reject(refusal('permission-denied', 'Denied.')) : operate(endpoint, ...rest),
    }));
    const items = [...scene.trash];
    const purged = await purge(scene.context, items);
    assert.deepEqual(
      purged.map(({ id }) => id),
      ['2'],
    );
    assert.deepEqual(scene.shownTexts(), [
      '“b.txt” deleted',
      'Couldn’t delete 1 of 2 items You don’t have permission to do this.',
    ]);
  });

  it('empties the trash, and says how many items it deleted', async () => {
    const scene = await fill();
    await empty(scene.context);
    assert.deepEqual([scene.shownTexts(), scene.trash], [['Trash emptied. 2 items deleted permanently.'], []]);
  });

  it('can be cancelled while it empties the trash', async () => {
    const sent: OperationOptions[] = [];
    const scene = await fill(() => ({
      operate: (_endpoint, _request, options) => {
        sent.push(options);
        return new Promise((_resolve, reject) => {
          options.signal?.addEventListener('abort', () => reject(options.signal?.reason));
        });
      },
    }));
    const emptying = empty(scene.context);
    await settle();
    mock.timers.tick(1_000);
    sent[0]?.onProgress?.({ done: 1, total: 2, bytes: 0 });
    const [operation] = scene.running.value;
    assert.equal(operation?.title, 'Emptying the trash');
    assert.equal(operation.progress.value.done, 1);
    operation.cancel();
    await emptying;
    assert.deepEqual(scene.shownTexts(), ['Cancelled. Some items may already be deleted.']);
  });
});
