/**
 * How a store compares names. Paths are compared segment by segment: neither function adds or removes a `/`.
 * Access control needs both functions: a grant gives rights only to paths that are certain to be in its folder, and closes
 * every path that may be in it.
 */
export interface NameComparison {
  /** Returns equal keys only for paths that the store is certain to treat as one. */
  certain(path: string): string;
  /** Returns equal keys for all paths that the store may treat as one. */
  possible(path: string): string;
}

const identical = (path: string) => path;

/** Names differ when their code points differ: buckets, repositories, and most file systems of Linux. */
export const EXACT_NAMES: NameComparison = { certain: identical, possible: identical };

export interface NameFolding {
  /** The store treats `a` and `A` as one letter. */
  readonly ignoresCase: boolean;
  /** The store treats a letter with an accent (NFC) and the letter followed by the accent (NFD) as one. */
  readonly ignoresForm: boolean;
}

/**
 * Returns the comparison of a store that folds names. File systems have different tables beyond ASCII, so only ASCII
 * letters and the Unicode normalization forms are certain.
 */
export function foldingNames({ ignoresCase, ignoresForm }: NameFolding): NameComparison {
  if (!ignoresCase && !ignoresForm) return EXACT_NAMES;
  return {
    certain(path) {
      const composed = ignoresForm ? path.normalize('NFC') : path;
      return ignoresCase ? composed.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()) : composed;
    },
    possible: foldNames,
  };
}

/**
 * Folds case and normalization as widely as any file system does: full Unicode case folding (`ß` is `ss`, the Kelvin sign is
 * `k`), and code points that ext4 and HFS+ ignore, such as U+200D.
 */
export function foldNames(path: string): string {
  const decomposed = path.normalize('NFD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  // `İ` is `i` with a dot in full case folding, and a plain `i` for file systems that fold letter by letter.
  const dotless = decomposed.replaceAll(/i\p{M}+/giu, (letter) => letter.replaceAll('\u0307', ''));
  // Lower case first, so that letters without a capital letter of their own (`ſ`, `ı`, `ß`, `ς`) meet in upper case.
  return dotless.toLowerCase().toUpperCase().normalize('NFD');
}
