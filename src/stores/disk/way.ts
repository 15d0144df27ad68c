import { dirname } from 'node:path';
import type { Calls } from './calls.ts';

/**
 * Milliseconds that the folders on a way have to have been left alone. A change gives a folder the time of the system's
 * last tick, ten milliseconds ago at the most: so that it differs from one that is older than this.
 */
const SETTLED = 1000;

/**
 * What tells whether the way to `absolute` changed: as long as this stays the same, every name on it has led to the same
 * folder at every moment in between, and not through a link. To put something else in the place of a name changes the
 * folder that has the name, in its `ctime`, which no program can set (POSIX, rename(), symlink(), unlink()). Undefined
 * where that can't be told: a change was too recent, or there is something else than folders.
 */
export async function stateOfWay(calls: Calls, absolute: string): Promise<string | undefined> {
  const found = await calls.lookUpAll(foldersAbove(absolute));
  const latest = Date.now() - SETTLED;
  let state = '';
  for (const stats of found) {
    if (!stats?.isDirectory() || Number(stats.ctimeMs) > latest) return undefined;
    state += `${stats.dev} ${stats.ino} ${stats.ctimeNs},`;
  }
  return state;
}

function foldersAbove(absolute: string): string[] {
  const folders: string[] = [];
  for (let folder = absolute, above = dirname(folder); above !== folder; folder = above, above = dirname(folder)) {
    folders.push(above);
  }
  return folders;
}
