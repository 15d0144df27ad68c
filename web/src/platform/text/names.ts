import { nameOf, ROOT } from '../paths.ts';
import type { Text } from './text.ts';

/** Returns the name of a folder as users see it. In the HTTP API, the root folder has no name. */
export function folderName(folder: string, { shell }: Pick<Text, 'shell'>): string {
  return folder === ROOT ? shell.root : nameOf(folder);
}

/**
 * Returns a name as the page shows it: characters that hide the real name are replaced by their code points, such as
 * `⟨U+202E⟩`. Use it only for display. Requests contain the name itself.
 */
export function shownName(name: string): string {
  return BLANK.test(name) ? name.replace(/[^]/gu, codePointOf) : name.replace(DIRECTIONAL, codePointOf);
}

/** Characters that change the direction of the text after them: with one, `exe.txt` looks like `txt.exe`. */
const DIRECTIONAL = /[\u202a-\u202e\u2066-\u2069]/g;

/** Names that look empty: only spaces and characters without a width. */
const BLANK = /^[\s\u200b-\u200f\u2060\ufeff]*$/u;

function codePointOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
