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
  return name.replace(MISLEADING, codePointOf);
}

/**
 * Characters that change the direction of the text after them (with one, `exe.txt` looks like `txt.exe`), characters
 * without a width, and a space at either end. Joiners are visible in emoji and in the scripts that need them: between
 * two of their characters, and after an Indic virama.
 */
const MISLEADING =
  /^\s|\s$|[\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]|(?<![\u0600-\u109f\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])[\u200c\u200d]|(?<![\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca])[\u200c\u200d](?![\u0600-\u109f\p{Extended_Pictographic}])/gu;

/** Returns the code point of a character, such as `⟨U+202E⟩`. */
export function codePointOf(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
