import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from './system-error.ts';

/**
 * Makes a folder and those above it that are missing. Throws the system's error where it can't; a file of that name is
 * found out by whoever uses the folder. `mkdir` of Node, told to make those above, asks for ever where the system says of
 * a folder that it is not there and lets nobody make it, as below `/proc`.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    makeOne(folder, mode);
  } catch (error) {
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || above === folder) throw error;
    makeFolder(above, mode);
    makeOne(folder, mode);
  }
}

function makeOne(folder: string, mode: number): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}
