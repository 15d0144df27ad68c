import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { isStoreError } from '../../src/model/error.ts';
import type { StagedUpload, Store } from '../../src/model/store.ts';
import { openGitHub } from '../../src/stores/github/github.ts';
import type { GitHubOptions } from '../../src/stores/github/settings.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { file, folder, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { tries } from '../seeds.ts';
import { fileOf, filesIn, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** One store operation. */
type Operation =
  | { readonly type: 'write'; readonly path: string; readonly text: string; readonly isNew: boolean }
  | { readonly type: 'remove' | 'createFolder' | 'removeTree'; readonly path: string }
  | Transfer;

interface Transfer {
  readonly type: 'copy' | 'move' | 'copyFolder' | 'moveFolder';
  readonly path: string;
  readonly to: string;
  readonly replace: boolean;
}

// Few names, so that operations conflict: on the same path, on nested paths, and between a file and a folder.
const filePath = fc.constantFrom('a/a', 'a/d/e', 'b/d', 'c');
const folderPath = fc.constantFrom('a', 'a/d', 'b', 'c');
const replace = fc.boolean();
const text = fc.constantFrom('one', 'two');

const operation: fc.Arbitrary<Operation> = fc
  .oneof(
    fc.record({ type: fc.constant('write'), path: filePath, text, isNew: fc.boolean() }),
    fc.record({ type: fc.constant('remove'), path: filePath }),
    fc.record({ type: fc.constantFrom('createFolder', 'removeTree'), path: folderPath }),
    fc.record({ type: fc.constantFrom('copy', 'move'), path: filePath, to: filePath, replace }),
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constantFrom('copyFolder', 'moveFolder'),
        path: folderPath,
        to: folderPath,
        replace,
      }),
    },
  )
  // `Files` rejects transfers between nested paths before they reach the store.
  .filter((op) => !('to' in op) || !(`${op.path}/`.startsWith(`${op.to}/`) || `${op.to}/`.startsWith(`${op.path}/`)));

const initialFiles = fc
  .subarray(['a/a', 'a/d/e', 'b/d'], { minLength: 2 })
  .map((paths) => Object.fromEntries(['keep', ...paths].map((path) => [path, `old ${path}`])));

const operations = (maxLength: number) => fc.array(operation, { minLength: 2, maxLength, size: 'max' });

it('gives concurrent operations the outcomes of some sequential order', async (t) => {
  const branches = await openBranches(t);
  await fc.assert(
    fc.asyncProperty(initialFiles, operations(5), async (files, sequence) => {
      await using branch = await branches.open(files, { gatherFor: 1 });
      const { store } = branch;
      // Uploads are staged first, so that all operations start at the same time.
      const staged = await Promise.all(
        sequence.map(async (op) => (op.type === 'write' ? requireMember(store, 'stage')(upload(op.text)) : undefined)),
      );
      const outcomes = await Promise.all(sequence.map((op, index) => outcomeOf(run(store, op, staged[index]))));
      const actual = JSON.stringify({ outcomes, files: sorted(await branch.files()) });
      const sequentialResults = permutations(sequence).map((order) => {
        const model = runSequentially(files, order);
        return JSON.stringify({ ...model, outcomes: sequence.map((op) => model.outcomes[order.indexOf(op)]) });
      });
      assert.ok(
        sequentialResults.includes(actual),
        `${actual} is not one of\n${[...new Set(sequentialResults)].join('\n')}`,
      );
    }),
    tries(t, 12),
  );
});

it('gives sequential operations the outcomes of an in-memory model', async (t) => {
  const branches = await openBranches(t);
  await fc.assert(
    fc.asyncProperty(initialFiles, operations(8), async (files, sequence) => {
      await using branch = await branches.open(files);
      const { store } = branch;
      const outcomes: string[] = [];
      for (const op of sequence) outcomes.push(await outcomeOf(run(store, op)));
      assert.deepEqual({ outcomes, files: sorted(await branch.files()) }, runSequentially(files, sequence));
    }),
    tries(t, 6),
  );
});

/** Opens a repository. Each run gets a branch of its own, because a repository takes longer than a run. */
async function openBranches(t: TestContext) {
  const { host, repository, options, remove } = await hostRepository();
  t.after(remove);
  let count = 0;
  return {
    /** Creates a branch with these files, and opens a store on it. */
    async open(files: Readonly<Record<string, string>>, given: Partial<GitHubOptions> = {}) {
      const branch = `run-${++count}`;
      // All runs together send more requests than GitHub serves in an hour.
      host.quota.remaining = host.quota.limit;
      await repository.commit(files, 'Initial commit', { branch });
      const cache = { ...options.cache, folder: join(options.cache.folder, branch) };
      const store = openGitHub({ ...options, ...given, branch, cache });
      return {
        store,
        files: () => filesIn(repository, branch),
        [Symbol.asyncDispose]: async () => store.close?.(),
      };
    },
  };
}

/** Returns `ok` or the kind of the store error. Rethrows any other error. */
async function outcomeOf(running: Promise<unknown>): Promise<string> {
  try {
    await running;
    return 'ok';
  } catch (error) {
    if (isStoreError(error)) return error.kind;
    throw error;
  }
}

async function run(store: Store, op: Operation, staged?: StagedUpload): Promise<unknown> {
  switch (op.type) {
    case 'write': {
      const condition = op.isNew ? ({ condition: 'absent' } as const) : {};
      if (staged) return staged.commit(file(op.path), { type: 'text/plain' }, condition);
      return store.write(file(op.path), upload(op.text), condition);
    }
    case 'remove':
      return store.remove(file(op.path));
    case 'createFolder':
      return store.createFolder(folder(op.path));
    case 'removeTree':
      return requireMember(store, 'removeTree')(folder(op.path));
    case 'copy':
    case 'move':
      return requireMember(store, op.type)(file(op.path), file(op.to), op);
    case 'copyFolder':
    case 'moveFolder':
      return requireMember(store, op.type)(folder(op.path), folder(op.to), op);
  }
}

/** Applies the operations to an in-memory model: a map of paths to contents, including `.gitkeep` markers. */
function runSequentially(initial: Readonly<Record<string, string>>, sequence: readonly Operation[]) {
  const files = new Map(Object.entries(initial));
  const outcomes = sequence.map((op) => applyToModel(files, op));
  const shas = [...files].map(([path, content]) => [path, fileOf(content)] as const);
  return { outcomes, files: sorted(Object.fromEntries(shas)) };
}

function applyToModel(files: Map<string, string>, op: Operation): string {
  const isFolder = (one: string) => pathsAt(files, `${one}/`).length > 0;
  const { path } = op;
  switch (op.type) {
    case 'write':
      if (hasFileAsParent(files, path) || isFolder(path)) return 'wrong-kind';
      if (op.isNew && files.has(path)) return 'condition-failed';
      files.set(path, op.text);
      return 'ok';
    case 'remove':
      return files.delete(path) ? 'ok' : 'not-found';
    case 'createFolder': {
      if (hasFileAsParent(files, path) || files.has(path)) return 'wrong-kind';
      const missing = parentFolders(path).filter((one) => !isFolder(one));
      for (const one of [...missing, path]) files.set(`${one}/.gitkeep`, '');
      return 'ok';
    }
    case 'removeTree':
      if (!isFolder(path)) return 'not-found';
      for (const name of pathsAt(files, `${path}/`)) files.delete(name);
      return 'ok';
    default:
      return transfer(files, op);
  }
}

function transfer(files: Map<string, string>, { type, path: from, to, replace: mayReplace }: Transfer): string {
  const isFolderTransfer = type === 'copyFolder' || type === 'moveFolder';
  const [destination, otherKind] = isFolderTransfer ? [`${to}/`, to] : [to, `${to}/`];
  const sources = isFolderTransfer ? pathsAt(files, `${from}/`) : pathsAt(files, from);
  if (sources.length === 0) return 'not-found';
  if (hasFileAsParent(files, to) || pathsAt(files, otherKind).length > 0) return 'wrong-kind';
  if (pathsAt(files, destination).length > 0 && !mayReplace) return 'already-exists';
  const contents = sources.map((name) => [to + name.slice(from.length), files.get(name) ?? ''] as const);
  for (const name of pathsAt(files, destination)) files.delete(name);
  for (const [name, content] of contents) files.set(name, content);
  if (type === 'move' || type === 'moveFolder') for (const name of sources) files.delete(name);
  return 'ok';
}

/** Returns the path if the file exists. For a path that ends with `/`, returns all files below that folder. */
function pathsAt(files: ReadonlyMap<string, string>, path: string): string[] {
  return [...files.keys()].filter((name) => (path.endsWith('/') ? name.startsWith(path) : name === path));
}

function hasFileAsParent(files: ReadonlyMap<string, string>, path: string): boolean {
  return parentFolders(path).some((above) => files.has(above));
}

function parentFolders(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('/'));
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}

function sorted(files: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).toSorted(([left], [right]) => (left < right ? -1 : 1)));
}
