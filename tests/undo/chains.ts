import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import { type Backend, shareWithinFile } from '../contract/backend.ts';
import { openUndoableFiles, type UndoableFiles } from './undoable-files.ts';

const CHANGES_PER_CHAIN = 20;

const FILES = ['a', 'b', 'f/a', 'f/b', 'g/a', 'h/x/a'].map(parseFile);
const FOLDERS = ['f', 'g', 'h', 'h/x'].map(parseFolder);

/** Tests that any chain of changes can be undone in reverse order, redone, and undone again. Each seed is another chain. */
export function testUndoChains(backend: Backend, seeds: readonly number[]): void {
  const { open } = shareWithinFile(backend);
  for (const seed of seeds) {
    it(`reverses, redoes and reverses chain ${seed} of changes of all kinds on ${backend.name}`, async (t) => {
      const { store, close } = await open();
      try {
        await using undoable = await openUndoableFiles(store);
        const names: string[] = [];
        const at = (index: number) => `${index} of:\n${names.join('\n')}`;
        const ids: string[] = [];
        const states = [await undoable.contents()];
        const random = randomNumbers(seed);
        while (ids.length < CHANGES_PER_CHAIN) {
          const [name, change] = randomChange(undoable, random, ids.length);
          const id = await undoable.changeIfAny(change).catch(undefinedIfImpossible);
          if (id === undefined) {
            assert.deepEqual(await undoable.contents(), states.at(-1), `Nothing was recorded of ${name}.`);
            continue;
          }
          ids.push(id);
          names.push(name);
          states.push(await undoable.contents());
        }
        t.diagnostic(names.join(', '));
        const undos: string[] = [];
        for (let index = ids.length; index > 0; index--) {
          undos.unshift(await undoable.undo(ids[index - 1] ?? '').catch(failAt(`Undo of ${at(index)}`)));
          assert.deepEqual(await undoable.contents(), states[index - 1], `Undo of ${at(index)}`);
        }
        const redone: string[] = [];
        for (const [index, id] of undos.entries()) {
          redone.push(await undoable.undo(id).catch(failAt(`Redo of ${at(index + 1)}`)));
          assert.deepEqual(await undoable.contents(), states[index + 1], `Redo of ${at(index + 1)}`);
        }
        for (let index = redone.length; index > 0; index--) {
          await undoable.undo(redone[index - 1] ?? '').catch(failAt(`Second undo of ${at(index)}`));
          assert.deepEqual(await undoable.contents(), states[index - 1], `Second undo of ${at(index)}`);
        }
      } finally {
        await close();
      }
    });
  }
}

const failAt = (step: string) => (cause: unknown) => {
  throw new Error(`${step}\n${String(cause)}`, { cause });
};

function undefinedIfImpossible(error: unknown): undefined {
  if (isStoreError(error)) return undefined;
  throw error;
}

/** Returns a change and its description. It fails if the files of the moment don't allow it. */
function randomChange(
  { files, upload, contents }: UndoableFiles,
  random: (below: number) => number,
  index: number,
): readonly [string, () => Promise<unknown>] {
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] ?? assert.fail('No item to pick.');
  const [file, other, folder, target] = [pick(FILES), pick(FILES), pick(FOLDERS), pick(FOLDERS)];
  const replace = random(2) === 0;
  const over = replace ? ' over' : ' to';
  const restore = (chosen: number) => async () => {
    const { items } = await files.listTrash();
    const item = items[chosen % items.length];
    if (item) await files.restoreTrashed(item.id);
    else await upload(file, `${index}`);
  };
  const restoreVersion = async () => {
    const { versions } = await files.listVersions(file);
    const [version] = versions;
    if (version && file in (await contents())) await files.restoreVersion(file, version.id);
    else await upload(file, `${index}`);
  };
  const createFolder = async () => {
    if (await files.folderExists(folder)) await upload(file, `${index}`);
    else await files.createFolder(folder);
  };
  return pick<readonly [string, () => Promise<unknown>]>([
    [`put ${file}`, () => upload(file, `${index}`)],
    [`put ${other}`, () => upload(other, `${index}`)],
    [`delete ${file}`, () => files.deleteFile(file)],
    [`move ${file}${over} ${other}`, () => files.moveFile(file, other, { replace })],
    [`copy ${file}${over} ${other}`, () => files.copyFile(file, other, { replace })],
    [`create ${folder}`, createFolder],
    [`delete ${folder}`, () => files.deleteFolder(folder)],
    [`move ${folder}${over} ${target}`, () => files.moveFolder(folder, target, { replace })],
    [`copy ${folder}${over} ${target}`, () => files.copyFolder(folder, target, { replace })],
    ['restore an item of the trash', restore(random(10))],
    [`restore a version of ${file}`, restoreVersion],
  ]);
}

/** Returns a generator of integers from 0 to below a number (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
