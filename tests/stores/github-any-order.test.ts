import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as fc from 'fast-check';
import { isStoreError } from '../../src/domain/error.ts';
import type { StagedUpload, Store } from '../../src/domain/store.ts';
import { file, folder, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { fileOf, filesIn, having, openRepository } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** Something that a store is asked to do. */
type Operation =
  | { readonly does: 'write'; readonly path: string; readonly text: string; readonly isNew: boolean }
  | { readonly does: 'remove' | 'createFolder' | 'removeTree'; readonly path: string }
  | Transfer;

interface Transfer {
  readonly does: 'copy' | 'move' | 'copyFolder' | 'moveFolder';
  readonly path: string;
  readonly to: string;
  readonly replace: boolean;
}

// So few names that operations meet: at the same path, within each other, as a file and as a folder.
const inFile = fc.constantFrom('a/a', 'a/d/e', 'b/d', 'c');
const inFolder = fc.constantFrom('a', 'a/d', 'b', 'c');
const replace = fc.boolean();
const text = fc.constantFrom('one', 'two');

const operation: fc.Arbitrary<Operation> = fc
  .oneof(
    fc.record({ does: fc.constant('write'), path: inFile, text, isNew: fc.boolean() }),
    fc.record({ does: fc.constant('remove'), path: inFile }),
    fc.record({ does: fc.constantFrom('createFolder', 'removeTree'), path: inFolder }),
    fc.record({ does: fc.constantFrom('copy', 'move'), path: inFile, to: inFile, replace }),
    {
      weight: 2,
      arbitrary: fc.record({
        does: fc.constantFrom('copyFolder', 'moveFolder'),
        path: inFolder,
        to: inFolder,
        replace,
      }),
    },
  )
  // What nothing can do with itself is for `Files` to refuse.
  .filter(
    (each) =>
      !('to' in each) || !(`${each.path}/`.startsWith(`${each.to}/`) || `${each.to}/`.startsWith(`${each.path}/`)),
  );

const planted = fc
  .subarray(['a/a', 'a/d/e', 'b/d'], { minLength: 2 })
  .map((paths) => Object.fromEntries(['keep', ...paths].map((each) => [each, `old ${each}`])));

const operations = (most: number) => fc.array(operation, { minLength: 2, maxLength: most, size: 'max' });

it('changes that come at once have the outcomes that they have one by one, in some order', async (t) => {
  await fc.assert(
    fc.asyncProperty(planted, operations(5), async (files, given) => {
      await using opened = await openRepository(t, { files }, { gatherFor: 1 });
      const { store, repository } = opened;
      // Taken in before, so that all changes come in the same moment.
      const staged = await Promise.all(
        given.map(async (each) => (each.does === 'write' ? having(store, 'stage')(upload(each.text)) : undefined)),
      );
      const outcomes = await Promise.all(given.map((each, index) => outcomeOf(run(store, each, staged[index]))));
      const found = JSON.stringify({ outcomes, files: sorted(await filesIn(repository)) });
      const possible = permutations(given).map((order) => {
        const model = oneByOne(files, order);
        return JSON.stringify({ ...model, outcomes: given.map((each) => model.outcomes[order.indexOf(each)]) });
      });
      assert.ok(possible.includes(found), `${found} is none of\n${[...new Set(possible)].join('\n')}`);
    }),
    { numRuns: 80 },
  );
});

it('changes that come one by one have the outcomes that they have in a model', async (t) => {
  await fc.assert(
    fc.asyncProperty(planted, operations(8), async (files, given) => {
      await using opened = await openRepository(t, { files });
      const { store, repository } = opened;
      const outcomes: string[] = [];
      for (const each of given) outcomes.push(await outcomeOf(run(store, each)));
      assert.deepEqual({ outcomes, files: sorted(await filesIn(repository)) }, oneByOne(files, given));
    }),
    { numRuns: 40 },
  );
});

/** `ok`, or the kind of the error. Anything else that is thrown is a fault. */
async function outcomeOf(running: Promise<unknown>): Promise<string> {
  try {
    await running;
    return 'ok';
  } catch (error) {
    if (isStoreError(error)) return error.kind;
    throw error;
  }
}

async function run(store: Store, each: Operation, staged?: StagedUpload): Promise<unknown> {
  switch (each.does) {
    case 'write': {
      const condition = each.isNew ? ({ condition: 'absent' } as const) : {};
      if (staged) return staged.publish(file(each.path), { type: 'text/plain' }, condition);
      return store.write(file(each.path), upload(each.text), condition);
    }
    case 'remove':
      return store.remove(file(each.path));
    case 'createFolder':
      return store.createFolder(folder(each.path));
    case 'removeTree':
      return having(store, 'removeTree')(folder(each.path));
    case 'copy':
    case 'move':
      return having(store, each.does)(file(each.path), file(each.to), each);
    case 'copyFolder':
    case 'moveFolder':
      return having(store, each.does)(folder(each.path), folder(each.to), each);
  }
}

/** What becomes of a branch that is nothing but its files, markers among them. */
function oneByOne(before: Readonly<Record<string, string>>, given: readonly Operation[]) {
  const files = new Map(Object.entries(before));
  const outcomes = given.map((each) => applyTo(files, each));
  const shas = [...files].map(([at, content]) => [at, fileOf(content)] as const);
  return { outcomes, files: sorted(Object.fromEntries(shas)) };
}

function applyTo(files: Map<string, string>, each: Operation): string {
  const isFolder = (one: string) => namesAt(files, `${one}/`).length > 0;
  const { path: at } = each;
  switch (each.does) {
    case 'write':
      if (isThroughFile(files, at) || isFolder(at)) return 'wrong-kind';
      if (each.isNew && files.has(at)) return 'condition-failed';
      files.set(at, each.text);
      return 'ok';
    case 'remove':
      return files.delete(at) ? 'ok' : 'not-found';
    case 'createFolder': {
      if (isThroughFile(files, at) || files.has(at)) return 'wrong-kind';
      const missing = foldersAbove(at).filter((one) => !isFolder(one));
      for (const one of [...missing, at]) files.set(`${one}/.gitkeep`, '');
      return 'ok';
    }
    case 'removeTree':
      if (!isFolder(at)) return 'not-found';
      for (const name of namesAt(files, `${at}/`)) files.delete(name);
      return 'ok';
    default:
      return transfer(files, each);
  }
}

function transfer(files: Map<string, string>, { does, path: from, to, replace: mayReplace }: Transfer): string {
  const isOfFolder = does === 'copyFolder' || does === 'moveFolder';
  const [wanted, other] = isOfFolder ? [`${to}/`, to] : [to, `${to}/`];
  const taken = isOfFolder ? namesAt(files, `${from}/`) : namesAt(files, from);
  if (taken.length === 0) return 'not-found';
  if (isThroughFile(files, to) || namesAt(files, other).length > 0) return 'wrong-kind';
  if (namesAt(files, wanted).length > 0 && !mayReplace) return 'already-exists';
  const contents = taken.map((name) => [to + name.slice(from.length), files.get(name) ?? ''] as const);
  for (const name of namesAt(files, wanted)) files.delete(name);
  for (const [name, content] of contents) files.set(name, content);
  if (does === 'move' || does === 'moveFolder') for (const name of taken) files.delete(name);
  return 'ok';
}

/** The file of this name, or all below a folder, whose name ends with `/`. */
function namesAt(files: ReadonlyMap<string, string>, at: string): string[] {
  return [...files.keys()].filter((name) => (at.endsWith('/') ? name.startsWith(at) : name === at));
}

function isThroughFile(files: ReadonlyMap<string, string>, at: string): boolean {
  return foldersAbove(at).some((above) => files.has(above));
}

function foldersAbove(at: string): string[] {
  const names = at.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}

function sorted(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
