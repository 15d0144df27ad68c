import { foldNames } from '../model/name-comparison.ts';

/** Maximum bytes of a name: the limit of most file systems on Linux, and below that of macOS and Windows. */
const MAX_NAME_BYTES = 255;

/** Characters that Windows or a reader treats specially, and control characters (also of C1). */
const UNSAFE = /[<>:"|?*\\\u0000-\u001f\u007f-\u009f]/g;

/**
 * Names of devices on Windows, also with an extension and with spaces before it
 * (learn.microsoft.com/windows/win32/fileio/naming-a-file).
 */
const RESERVED = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

/**
 * Returns a name that every system can create, and that stays in its folder. Names that already are remain as they
 * are; otherwise `_` replaces each unsafe character.
 */
export function safeName(name: string): string {
  const cleaned = withoutTrailing(name.replace(UNSAFE, '_'));
  return shorten(RESERVED.test(cleaned) ? `_${cleaned}` : cleaned, '');
}

/**
 * The names in one folder of an archive. No two of them are the same on a file system that ignores case or the Unicode
 * normalization form: later ones get a number.
 */
export class FolderNames {
  readonly #taken = new Set<string>();
  /** The next number of each name that was taken, so that many equal names don't take quadratic time. */
  readonly #numbers = new Map<string, number>();

  /** Returns the safe name of the next file or folder. */
  add(name: string): string {
    const safe = safeName(name);
    if (this.#take(safe)) return safe;
    const key = keyOf(safe);
    for (let number = this.#numbers.get(key) ?? 2; ; number++) {
      const numbered = shorten(safe, ` (${number})`);
      if (!this.#take(numbered)) continue;
      this.#numbers.set(key, number + 1);
      return numbered;
    }
  }

  #take(name: string): boolean {
    const key = keyOf(name);
    if (this.#taken.has(key)) return false;
    this.#taken.add(key);
    return true;
  }
}

/** Returns the same key for names that a file system might treat as the same. Folding ASCII needs no tables. */
function keyOf(name: string): string {
  return /^[\x20-\x7e]*$/.test(name) ? name.toUpperCase() : foldNames(name);
}

/** Adds a suffix before the extension of a name, and shortens the rest so that the name is not too long. */
function shorten(name: string, suffix: string): string {
  if (suffix === '' && name.length * 3 <= MAX_NAME_BYTES) return name;
  const dot = name.lastIndexOf('.');
  // A long "extension" is part of the name, and a dot at the start marks a hidden file.
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : '';
  const end = suffix + extension;
  let stem = name.slice(0, name.length - extension.length);
  const excess = Buffer.byteLength(stem + end) - MAX_NAME_BYTES;
  if (excess > 0) stem = withoutLastBytes(stem, excess);
  return stem + end;
}

/** Removes at least so many bytes from the end of a text, at the border of a character. */
function withoutLastBytes(text: string, bytes: number): string {
  const characters = Array.from(text);
  let removed = 0;
  while (removed < bytes) removed += Buffer.byteLength(characters.pop() ?? ' '.repeat(bytes));
  return withoutTrailing(characters.join(''));
}

/** Replaces the dots and spaces at the end of a name, which Windows would remove. Also covers `.` and `..`. */
function withoutTrailing(name: string): string {
  let end = name.length;
  while (end > 0 && '. '.includes(name.charAt(end - 1))) end--;
  return name.slice(0, end) + '_'.repeat(name.length - end);
}
