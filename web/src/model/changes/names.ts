import type { InitialText } from '../../platform/text/language.ts';

export type NameProblem = keyof InitialText['names']['problems'];

/** Bytes of UTF-8 that a name may have: the least that all stores allow. */
const MAX_NAME = 255;
/** The same of a whole path, a folder's "/" included. */
const MAX_PATH = 1024;

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f]/;

/** Why the service would not take a name; undefined where it would. All that it takes is fine, however odd. */
export function problemOfName(
  name: string,
  { folder, isFolder, isTaken }: { folder: string; isFolder: boolean; isTaken: (name: string) => boolean },
): NameProblem | undefined {
  if (name === '') return 'empty';
  if (name.includes('/')) return 'slash';
  if (name === '.' || name === '..') return 'dots';
  if (CONTROL.test(name) || !name.isWellFormed()) return 'control';
  if (bytesOf(name) > MAX_NAME) return 'long';
  if (bytesOf(folder + name) + (isFolder ? 1 : 0) > MAX_PATH) return 'deep';
  return isTaken(name) ? 'taken' : undefined;
}

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text).length;
