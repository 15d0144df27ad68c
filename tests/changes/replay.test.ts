import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import { type ChangeRecording, RecordedFiles } from '../../src/files/recorded-files.ts';
import type { Change } from '../../src/model/change.ts';
import { isStoreError } from '../../src/model/error.ts';
import {
  type FilePath,
  type FolderPath,
  isFolder,
  isWithin,
  parentOf,
  parseFile,
  parseFolder,
  ROOT,
  rebase,
} from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { disk, memory } from '../contract/backend.ts';
import { tries } from '../seeds.ts';

type Operation = (files: Files) => Promise<unknown>;

// Few names, so that operations meet at the same paths.
const segments = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  .map((names) => names.join('/'));
const file = segments.map(parseFile);
const folder = segments.map(parseFolder);
const options = fc.record({ replace: fc.boolean() });
const name = fc.constantFrom('a', 'b', 'c');

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(file, fc.constantFrom('one', 'three'), fc.constantFrom('absent' as const, undefined)).map(
      ([path, text, condition]): Operation =>
        (files) =>
          files.upload({ target: { path, condition }, body: Readable.from([Buffer.from(text)]) }),
    ),
  },
  fc.tuple(file).map(
    ([path]): Operation =>
      (files) =>
        files.deleteFile(path),
  ),
  fc.tuple(file, name, options).map(
    ([path, to, replacing]): Operation =>
      (files) =>
        files.renameFile(path, to, replacing),
  ),
  fc.tuple(file, file, options).map(
    ([from, to, replacing]): Operation =>
      (files) =>
        files.copyFile(from, to, replacing),
  ),
  fc.tuple(file, file, options).map(
    ([from, to, replacing]): Operation =>
      (files) =>
        files.moveFile(from, to, replacing),
  ),
  fc.tuple(folder).map(
    ([path]): Operation =>
      (files) =>
        files.createFolder(path),
  ),
  fc.tuple(folder).map(
    ([path]): Operation =>
      (files) =>
        files.deleteFolder(path),
  ),
  fc.tuple(folder, name, options).map(
    ([path, to, replacing]): Operation =>
      (files) =>
        files.renameFolder(path, to, replacing),
  ),
  fc.tuple(folder, folder, options).map(
    ([from, to, replacing]): Operation =>
      (files) =>
        files.copyFolder(from, to, replacing),
  ),
  fc.tuple(folder, folder, options).map(
    ([from, to, replacing]): Operation =>
      (files) =>
        files.moveFolder(from, to, replacing),
  ),
);

/** A copy of a store that changes only by the changes of the log. A file has its size and ETag; a folder has ''. */
class Replica {
  readonly entries = new Map<string, string>();

  apply({ type, path, from, size, etag }: Change): void {
    if (type === 'folder.changed' || type === 'resync') return assert.fail(type);
    if (type === 'file.deleted' || type === 'folder.deleted') return this.#remove(path);
    const moved = from === undefined ? [] : this.#below(from);
    if (type === 'file.moved' || type === 'folder.moved') this.#remove(from ?? path);
    if (from !== undefined) this.#remove(path);
    this.#createFolder(isFolder(path) ? path : parentOf(path));
    if (!isFolder(path)) {
      const source = moved[0]?.[1] ?? '';
      this.entries.set(path, type === 'file.moved' ? source : `${size} ${etag}`);
      return;
    }
    for (const [source, value] of moved) {
      this.entries.set(rebase(source as FilePath, from as FolderPath, path), value);
    }
  }

  #createFolder(path: FolderPath): void {
    for (let each = path; each !== ROOT; each = parentOf(each)) this.entries.set(each, '');
  }

  #below(path: FilePath | FolderPath): [string, string][] {
    const isBelow = (each: string) => (isFolder(path) ? isWithin(each as FilePath, path) : each === path);
    return [...this.entries].filter(([each]) => isBelow(each));
  }

  #remove(path: FilePath | FolderPath): void {
    for (const [each] of this.#below(path)) this.entries.delete(each);
  }
}

const sorted = (entries: readonly [string, string][]) =>
  entries.toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)));

async function contentOf(store: Store): Promise<[string, string][]> {
  const entries: [string, string][] = [];
  for await (const entry of walk(store, ROOT)) {
    if (entry.kind === 'folder') entries.push([entry.path, '']);
    else entries.push([entry.path, `${entry.size} ${entry.etag}`]);
  }
  return sorted(entries);
}

describe('Replaying the change log', () => {
  for (const backend of [memory, disk]) {
    it(`leads to the files of the store after any operations: ${backend.name}`, async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
          const { store, close } = await backend.open();
          try {
            const replica = new Replica();
            const recording: ChangeRecording = {
              begin: () => {},
              end: async (changes) => changes.forEach((change) => replica.apply(change)),
            };
            const files = new RecordedFiles(createFiles(store, { presignExpires: 60 }), recording, undefined);
            for (const operate of operations) {
              await operate(files).catch((error: unknown) => assert.ok(isStoreError(error), String(error)));
            }
            assert.deepEqual(sorted([...replica.entries]), await contentOf(store));
          } finally {
            await close();
          }
        }),
        tries(t, 30),
      );
    });
  }
});
