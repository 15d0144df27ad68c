import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import * as fc from 'fast-check';
import { createFiles, type Files } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { type Backend, disk, memory } from '../contract/backend.ts';
import { treeOf } from '../contract/bytes.ts';
import { tries } from '../seeds.ts';

/** A path, or the index of an existing path at that time. */
type Where<Path> = Path | number;

/** One call of `Files`. */
type Operation =
  | { readonly does: 'upload'; readonly file: Where<FilePath>; readonly text: string; readonly isNew: boolean }
  | { readonly does: 'deleteFile'; readonly file: Where<FilePath> }
  | { readonly does: 'renameFile'; readonly file: Where<FilePath>; readonly name: string; readonly replace: boolean }
  | {
      readonly does: 'copyFile' | 'moveFile';
      readonly file: Where<FilePath>;
      readonly toFile: Where<FilePath>;
      readonly replace: boolean;
    }
  | { readonly does: 'createFolder' | 'deleteFolder'; readonly folder: Where<FolderPath> }
  | {
      readonly does: 'renameFolder';
      readonly folder: Where<FolderPath>;
      readonly name: string;
      readonly replace: boolean;
    }
  | {
      readonly does: 'copyFolder' | 'moveFolder';
      readonly folder: Where<FolderPath>;
      readonly toFolder: Where<FolderPath>;
      readonly replace: boolean;
    };

// Few names and few levels, so that paths conflict: as the same path, as ancestor and descendant, or as a file and a
// folder.
const name = fc.constantFrom('a', 'b', 'c');
const segments = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
const anyFile = segments.map(parseFile);
const anyFolder = fc.oneof(
  { weight: 20, arbitrary: segments.map(parseFolder) },
  { weight: 1, arbitrary: fc.constant(ROOT) },
);
const present = fc.nat({ max: 99 });
const file: fc.Arbitrary<Where<FilePath>> = fc.oneof(
  { weight: 4, arbitrary: present },
  { weight: 1, arbitrary: anyFile },
);
const folder: fc.Arbitrary<Where<FolderPath>> = fc.oneof(
  { weight: 4, arbitrary: present },
  { weight: 1, arbitrary: anyFolder },
);
const toFile: fc.Arbitrary<Where<FilePath>> = fc.oneof(
  { weight: 1, arbitrary: present },
  { weight: 3, arbitrary: anyFile },
);
const toFolder: fc.Arbitrary<Where<FolderPath>> = fc.oneof(
  { weight: 1, arbitrary: present },
  { weight: 3, arbitrary: anyFolder },
);
const replace = fc.boolean();
const text = fc.constantFrom('', 'one', 'two', 'three');

const upload = fc.record({ does: fc.constant('upload'), file: toFile, text, isNew: fc.boolean() });
const createFolder = fc.record({ does: fc.constant('createFolder'), folder: anyFolder });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 4, arbitrary: upload },
  { weight: 2, arbitrary: createFolder },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('deleteFile'), file }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('deleteFolder'), folder }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('renameFile'), file, name, replace }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('renameFolder'), folder, name, replace }) },
  { weight: 4, arbitrary: fc.record({ does: fc.constantFrom('copyFile', 'moveFile'), file, toFile, replace }) },
  { weight: 5, arbitrary: fc.record({ does: fc.constantFrom('copyFolder', 'moveFolder'), folder, toFolder, replace }) },
);
const sequence = fc
  .tuple(
    fc.array<Operation>(fc.oneof(upload, createFolder), { maxLength: 8, size: 'max' }),
    fc.array(operation, { minLength: 1, maxLength: 20, size: 'max' }),
  )
  .map(([planted, operations]) => [...planted, ...operations]);

it('any sequence of operations has the same results and leaves the same tree on disk as in memory', async (t) => {
  await fc.assert(
    fc.asyncProperty(sequence, async (operations) => {
      await using real = await open(disk);
      await using model = await open(memory);
      let tree: Record<string, string | null> = {};
      for (const [index, each] of operations.entries()) {
        const outcomes = [await outcomeOf(real.files, each, tree), await outcomeOf(model.files, each, tree)];
        const step = `step ${index}, ${JSON.stringify(each)}, on ${JSON.stringify(tree)}`;
        assert.equal(outcomes[0], outcomes[1], `the outcome of ${step}`);
        tree = await treeOf(model.files);
        assert.deepEqual(await treeOf(real.files), tree, `the tree after ${step}`);
      }
    }),
    tries(t, 12),
  );
});

async function open(backend: Backend): Promise<{ files: Files } & AsyncDisposable> {
  const { store, close } = await backend.open();
  return { files: createFiles(store, { presignExpires: 60 }), [Symbol.asyncDispose]: close };
}

/** Returns the result for the caller, or the kind of the error. Any other error is a fault. */
async function outcomeOf(files: Files, each: Operation, tree: Record<string, string | null>): Promise<string> {
  const paths = Object.keys(tree);
  const fileAt = (where: Where<FilePath>) =>
    pick(where, paths.filter((path) => !path.endsWith('/')).map(parseFile), parseFile('a'));
  const folderAt = (where: Where<FolderPath>) =>
    pick(where, paths.filter((path) => path.endsWith('/')).map(parseFolder), parseFolder('a'));
  try {
    return `ok ${(await run(files, each, { fileAt, folderAt })) ?? ''}`;
  } catch (error) {
    if (isStoreError(error)) return error.kind;
    throw error;
  }
}

/** Returns the chosen path; `none` if nothing exists. */
function pick<Path extends FilePath | FolderPath>(where: Where<Path>, existing: readonly Path[], none: Path): Path {
  if (typeof where !== 'number') return where;
  return existing[where % existing.length] ?? none;
}

interface Places {
  fileAt(where: Where<FilePath>): FilePath;
  folderAt(where: Where<FolderPath>): FolderPath;
}

async function run(files: Files, each: Operation, { fileAt, folderAt }: Places): Promise<string | undefined> {
  switch (each.does) {
    case 'upload': {
      const condition = each.isNew ? 'absent' : undefined;
      const body = Readable.from([Buffer.from(each.text)], { objectMode: false });
      const { path, size } = await files.upload({ target: { path: fileAt(each.file), condition }, body });
      return `${path} ${size}`;
    }
    case 'deleteFile':
      await files.deleteFile(fileAt(each.file));
      return undefined;
    case 'renameFile':
      return files.renameFile(fileAt(each.file), each.name, each);
    case 'copyFile':
    case 'moveFile':
      await files[each.does](fileAt(each.file), fileAt(each.toFile), each);
      return undefined;
    case 'createFolder':
    case 'deleteFolder':
      await files[each.does](folderAt(each.folder));
      return undefined;
    case 'renameFolder':
      return files.renameFolder(folderAt(each.folder), each.name, each);
    case 'copyFolder':
    case 'moveFolder':
      await files[each.does](folderAt(each.folder), folderAt(each.toFolder), each);
      return undefined;
  }
}
