/** Characters that turn the direction of all that follows them, which makes `exe.txt` of `txt.exe` to the eye. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Names of which nothing is seen: of spaces and characters without a width. */
const BLANK = /^[\s\u200b-\u200f\u2060\ufeff]*$/u;

/**
 * A name as it is shown: what would deceive the eye in it is written as the number that the character has in Unicode. A
 * name is never changed by that, only how it looks.
 */
export function shownName(name: string): string {
  return BLANK.test(name) ? name.replace(/[^]/gu, inWords) : name.replace(TURNING, inWords);
}

function inWords(character: string): string {
  return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
