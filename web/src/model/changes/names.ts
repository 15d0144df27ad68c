import type { InitialText } from '../../platform/text/language.ts';

export type NameProblem = keyof InitialText['names']['problems'];

/** The maximum length in bytes of a name and of a path, including the "/" of a folder. All stores allow these. */
const MAX_NAME_BYTES = 255;
const MAX_PATH_BYTES = 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: names must not contain these.
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Returns why the service would reject a name; undefined if it would accept the name. */
export function findNameProblem(
  name: string,
  { folder, isFolder, isTaken }: { folder: string; isFolder: boolean; isTaken: (name: string) => boolean },
): NameProblem | undefined {
  if (name === '') return 'empty';
  if (name.includes('/')) return 'slash';
  if (name === '.' || name === '..') return 'dots';
  if (CONTROL.test(name) || !name.isWellFormed()) return 'control';
  if (countBytes(name) > MAX_NAME_BYTES) return 'long';
  if (countBytes(folder + name) + (isFolder ? 1 : 0) > MAX_PATH_BYTES) return 'deep';
  return isTaken(name) ? 'taken' : undefined;
}

const encoder = new TextEncoder();
const countBytes = (text: string) => encoder.encode(text).length;
