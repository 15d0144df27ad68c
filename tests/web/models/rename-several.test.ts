import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Prompts } from '../../../web/src/model/prompts.ts';
import { createChangeScene, settle } from './change-scene.ts';
import { refusal } from './service-errors.ts';

/** Answers the question for new names. */
const namesFrom =
  (newNames: Readonly<Record<string, string>>): Prompts['promptNames'] =>
  async (entries) =>
    entries.map((entry) => ({ entry, name: newNames[entry.name] ?? entry.name }));

describe('Renaming several entries', () => {
  it('renames each when its name is free, and is undone as one change', async () => {
    const scene = await createChangeScene({
      files: { '1.txt': 'one', '2.txt': 'two', '3.txt': 'three', 'x/a.txt': 'a' },
      prompts: { promptNames: namesFrom({ '1.txt': '2.txt', '2.txt': '3.txt', '3.txt': '4.txt', x: 'y' }) },
    });
    await scene.renameSeveral(scene.folder.entries.value);
    assert.deepEqual(Object.fromEntries(scene.stored), {
      '2.txt': 'one',
      '3.txt': 'two',
      '4.txt': 'three',
      'y/a.txt': 'a',
    });
    assert.deepEqual(scene.shown(), ['y/', '2.txt', '3.txt', '4.txt']);
    assert.deepEqual(scene.shownTexts(), ['4 of 4 items renamed']);
    scene.press('Undo');
    await settle();
    assert.deepEqual(Object.fromEntries(scene.stored), {
      '1.txt': 'one',
      '2.txt': 'two',
      '3.txt': 'three',
      'x/a.txt': 'a',
    });
    assert.deepEqual(scene.shown(), ['x/', '1.txt', '2.txt', '3.txt']);
  });

  it('exchanges names by a temporary one, which is undone and redone as one change', async () => {
    const files = { '1.txt': 'one', '2.txt': 'two', '3.txt': 'three', 'x/a.txt': 'a', 'y/b.txt': 'b' };
    const newNames = { '1.txt': '2.txt', '2.txt': '3.txt', '3.txt': '1.txt', x: 'y', y: 'x' };
    const scene = await createChangeScene({ files, prompts: { promptNames: namesFrom(newNames) } });
    await scene.renameSeveral(scene.folder.entries.value);
    const exchanged = { '1.txt': 'three', '2.txt': 'one', '3.txt': 'two', 'x/b.txt': 'b', 'y/a.txt': 'a' };
    const stored = () => Object.fromEntries([...scene.stored].toSorted(([one], [other]) => (one < other ? -1 : 1)));
    assert.deepEqual(stored(), exchanged);
    assert.deepEqual(scene.shownTexts(), ['5 of 5 items renamed']);
    const names = ['x/', 'y/', '1.txt', '2.txt', '3.txt'];
    assert.deepEqual(scene.shown(), names);
    scene.press('Undo');
    await settle();
    assert.deepEqual([stored(), scene.shown()], [files, names]);
    scene.redos.value.at(-1)?.();
    await settle();
    assert.deepEqual([stored(), scene.shown()], [exchanged, names]);
  });

  it('loses nothing if an exchange fails in the middle', async () => {
    const files = { '1.txt': 'one', '2.txt': 'two' };
    const scene = await createChangeScene({
      files,
      prompts: { promptNames: namesFrom({ '1.txt': '2.txt', '2.txt': '1.txt' }) },
      override: ({ rename }) => ({
        rename: (path, ...rest) =>
          path === '2.txt' ? Promise.reject(refusal('denied', 'Denied.')) : rename(path, ...rest),
      }),
    });
    await scene.renameSeveral(scene.folder.entries.value);
    assert.deepEqual(Object.fromEntries(scene.stored), files);
    await settle();
    assert.deepEqual(scene.shown(), ['1.txt', '2.txt']);
    assert.match(scene.shownTexts().join(), /Couldn’t rename 2 items/);
  });

  it('restores the names that the service rejects, and says why', async () => {
    const scene = await createChangeScene({
      files: { 'a.txt': 'a', 'b.txt': 'b' },
      prompts: { promptNames: namesFrom({ 'a.txt': 'c.txt', 'b.txt': 'd.txt' }) },
      override: ({ rename }) => ({
        rename: (path, ...rest) =>
          path === 'b.txt' ? Promise.reject(refusal('already-exists', 'Taken.')) : rename(path, ...rest),
      }),
    });
    await scene.renameSeveral(scene.folder.entries.value);
    assert.deepEqual(scene.shown(), ['b.txt', 'c.txt']);
    assert.deepEqual([...scene.stored.keys()].toSorted(), ['b.txt', 'c.txt']);
    const [done, failed] = scene.shownTexts();
    assert.equal(done, '1 of 2 items renamed');
    assert.match(failed ?? '', /Couldn’t rename “b.txt”/);
  });

  it('changes nothing if the user cancels', async () => {
    const scene = await createChangeScene({ files: { 'a.txt': 'a' }, prompts: { promptNames: async () => null } });
    await scene.renameSeveral(scene.folder.entries.value);
    assert.deepEqual([scene.shown(), scene.shownTexts()], [['a.txt'], []]);
  });
});
