import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import { type ChangeRecording, RecordedFiles } from '../../src/files/recorded-files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { disk, memory } from '../contract/backend.ts';
import { tries } from '../seeds.ts';
import { describeContent, type ReplayedEntry, ReplayedFiles, sortEntries } from './replayed-files.ts';

type Operation = (files: Files) => Promise<unknown>;

// Few names, so that operations conflict at the same paths.
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

async function contentOf(store: Store): Promise<ReplayedEntry[]> {
  const entries: ReplayedEntry[] = [];
  for await (const entry of walk(store, ROOT)) {
    if (entry.kind === 'folder') entries.push([entry.path, '']);
    else entries.push([entry.path, describeContent(entry.size, entry.etag)]);
  }
  return sortEntries(entries);
}

describe('Replaying the change log', () => {
  for (const backend of [memory, disk]) {
    it(`leads to the files of the store after any operations: ${backend.name}`, async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 25 }), async (operations) => {
          const { store, close } = await backend.open();
          try {
            const replayed = new ReplayedFiles();
            const recording: ChangeRecording = {
              begin: () => {},
              end: async (changes) => {
                changes.forEach((change) => replayed.apply(change));
                return undefined;
              },
            };
            const files = new RecordedFiles(createFiles(store, { presignExpires: 60 }), recording, { user: undefined });
            for (const operate of operations) {
              await operate(files).catch((error: unknown) => assert.ok(isStoreError(error), String(error)));
            }
            assert.deepEqual(replayed.entries(), await contentOf(store));
          } finally {
            await close();
          }
        }),
        tries(t, 30),
      );
    });
  }
});
