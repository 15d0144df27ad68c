import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../testing/until.ts';

/** Returns the sorted paths of all files and folders below the root, except those of `.holdall`. Folders end with `/`. */
export async function contentsOf(root: string): Promise<string[]> {
  const all = await pathsBelow(root);
  return all.filter((path) => !path.startsWith('.holdall/'));
}

/** The content of the service's folder for temporary files. */
export interface TemporaryFiles {
  /** The ids of the processes that have a folder there. */
  readonly owners: readonly number[];
  /** All other paths. */
  readonly files: readonly string[];
}

export async function temporaryFilesOf(root: string): Promise<TemporaryFiles> {
  const paths = await pathsBelow(temporaryFolderOf(root));
  const isOwned = (path: string) => PROCESS_FOLDER.test(path);
  return { owners: paths.filter(isOwned).map(ownerOf), files: paths.filter((path) => !isOwned(path)) };
}

/** Waits until only empty folders of processes remain. */
export async function untilNoTemporaryFiles(root: string): Promise<void> {
  await until('all temporary files are removed', async () => (await temporaryFilesOf(root)).files.length === 0);
}

/** Waits until `count` temporary files have at least `bytes` bytes each. */
export async function untilStaged(root: string, bytes: number, count = 1): Promise<void> {
  await until(`${count} temporary files have ${bytes} bytes`, async () => {
    const { files } = await temporaryFilesOf(root);
    const sizes = await Promise.all(files.map((path) => sizeOf(join(temporaryFolderOf(root), path))));
    return sizes.filter((size) => size >= bytes).length >= count;
  });
}

const temporaryFolderOf = (root: string) => join(root, '.holdall', 'temporary');

/** Matches the folder of a process. */
const PROCESS_FOLDER = /^[^/~]+~[^/]+\/$/;

/** The process in the name of its folder: the last of the fields that is a number. What is beside it makes it unique. */
function ownerOf(name: string): number {
  return Number(
    name
      .slice(0, -1)
      .split('~')
      .findLast((field) => /^\d+$/.test(field)),
  );
}

/** An entry that disappears while it is read is ignored. */
async function pathsBelow(folder: string): Promise<string[]> {
  const children: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const paths = children.map(async (child) => {
    if (!child.isDirectory()) return [child.name];
    const below = await pathsBelow(join(folder, child.name));
    return [`${child.name}/`, ...below.map((path) => `${child.name}/${path}`)];
  });
  return (await Promise.all(paths)).flat().toSorted();
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
