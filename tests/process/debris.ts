import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../testing/until.ts';

/** Every file and folder below the root that is not the service's own, as paths in their order; folders with a `/`. */
export async function contentsOf(root: string): Promise<string[]> {
  const all = await pathsBelow(root);
  return all.filter((path) => !path.startsWith('.holdall/'));
}

/** What lies in the service's folder for temporary files. */
export interface Temporary {
  /** The processes that have a folder of their own there, by their ids. */
  readonly owners: readonly number[];
  /** Every path in one of those folders, or beside them. */
  readonly debris: readonly string[];
}

export async function temporaryOf(root: string): Promise<Temporary> {
  const paths = await pathsBelow(temporaryFolderOf(root));
  const isOwned = (path: string) => OWNED.test(path);
  return { owners: paths.filter(isOwned).map(ownerOf), debris: paths.filter((path) => !isOwned(path)) };
}

/** Waits until nothing but folders of processes lies there, each empty. */
export async function untilNoDebris(root: string): Promise<void> {
  await until('no temporary file is left', async () => (await temporaryOf(root)).debris.length === 0);
}

/** Waits until this many temporary files hold bytes, `bytes` each at least. */
export async function untilTakenIn(root: string, bytes: number, count = 1): Promise<void> {
  await until(`${count} temporary files have ${bytes} bytes`, async () => {
    const { debris } = await temporaryOf(root);
    const sizes = await Promise.all(debris.map((path) => sizeOf(join(temporaryFolderOf(root), path))));
    return sizes.filter((size) => size >= bytes).length >= count;
  });
}

const temporaryFolderOf = (root: string) => join(root, '.holdall', 'temporary');

/** A process's folder. */
const OWNED = /^[^/~]+~[^/]+\/$/;

/** The process in the name of its folder: the last of the fields that is a number. What is beside it makes it unique. */
function ownerOf(name: string): number {
  return Number(
    name
      .slice(0, -1)
      .split('~')
      .findLast((field) => /^\d+$/.test(field)),
  );
}

/** What vanishes while it is read is not there. */
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
