import { linkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The prefix of the names that `createManyFiles` gives to entries. */
export const entryPrefix = 'entry ';

/**
 * Returns the name of the entry with this number, from 1. Names with the same number of digits sort like their numbers.
 */
export function entryName(number: number, digits = 6): string {
  return `${entryPrefix}${String(number).padStart(digits, '0')}.txt`;
}

/**
 * Creates this number of small files in a folder, 100,000 in one or two seconds. Most are hard links, because creating
 * a file takes ten times as long. Synchronous, because asynchronous calls would also take several times as long.
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

/** Below the limits of file systems: 65,000 on ext4, 65,535 on btrfs. */
const linksOfOne = 50_000;
