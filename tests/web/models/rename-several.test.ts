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
