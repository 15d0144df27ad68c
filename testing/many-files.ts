import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the names of all entries that `createManyFiles` makes begin with. */
export const entryPrefix = 'entry ';

/** The name of an entry by its number, from 1 on; names and numbers of so many digits have the same order. */
export function entryName(number: number, digits = 6): string {
  return `${entryPrefix}${String(number).padStart(digits, '0')}.txt`;
}

/**
 * Makes so many files of a few bytes in a folder, in a second or two for 100,000: nearly all are hard links, since making
 * a file of its own takes a file system ten times as long. Not asynchronous: that would take some times as long, too.
 */
export function createManyFiles(folder: string, count: number): void {
  let linked = '';
  for (let number = 1; number <= count; number++) {
    const file = join(folder, entryName(number));
    if (number % linksOfOne === 1) {
      linked = file;
      writeFileSync(file, 'An entry.\n', { flag: 'wx' });
    } else {
      linkSync(linked, file);
    }
  }
}

/** Below what file systems allow: 65,000 on ext4, 65,535 on btrfs. */
const linksOfOne = 50_000;
