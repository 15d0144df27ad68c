/**
 * Gives the text of the bytes of a file, part after part: a character that is cut at the end of a part comes with the
 * next one. Undefined where the first bytes are no text.
 *
 * The encoding is what a byte order mark says, else the media type (its `charset`), else UTF-8; where the bytes are
 * not that, the one that old files are in where `language` is spoken.
 */
export function createTextDecoder(
  first: Uint8Array,
  {
    contentType,
    language,
    isWhole,
  }: { readonly contentType: string; readonly language: string; readonly isWhole: boolean },
): ((part: Uint8Array, isLast: boolean) => string) | undefined {
  const marked = MARKS.find(([mark]) => mark.every((byte, index) => first[index] === byte))?.[1];
  if (marked === undefined && first.includes(0)) return undefined;
  const label = marked ?? declared(contentType) ?? (isUtf8(first, isWhole) ? 'utf-8' : legacyOf(language));
  const decoder = new TextDecoder(label);
  return (part, isLast) => decoder.decode(part, { stream: !isLast });
}

/** Byte order marks, with which some programs begin their files. */
const MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** The encoding that a media type names, if this browser knows it. */
function declared(contentType: string): string | undefined {
  const charset = /;\s*charset="?(?<name>[\w.:-]+)/i.exec(contentType)?.groups?.['name'];
  // Said of every text by the service itself, where the store says nothing.
  if (charset === undefined || /^utf-?8$/i.test(charset)) return undefined;
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

/** A part may end within a character, a whole file may not. */
function isUtf8(bytes: Uint8Array, isWhole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isWhole });
    return true;
  } catch {
    return false;
  }
}

const legacyOf = (language: string) => (language.startsWith('zh') ? 'gb18030' : 'windows-1252');
