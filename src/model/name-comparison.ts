/**
 * How a store compares names. Paths are compared segment by segment: neither function adds or removes a `/`. Access
 * control needs both functions. A grant gives permissions only for paths that are certainly in its folder. It denies
 * access to every other path that can be in it.
 */
export interface NameComparison {
  /** Returns equal keys only for paths that the store certainly treats as the same. */
  certain(path: string): string;
  /** Returns equal keys for all paths that the store might treat as the same. */
  possible(path: string): string;
}

const identical = (path: string) => path;

/** Compares names by code points, as buckets, repositories and most Linux file systems do. */
export const EXACT_NAMES: NameComparison = { certain: identical, possible: identical };

/** The comparison of a store that can compare names in any way: grants give permissions only for identical paths. */
export const UNKNOWN_NAMES: NameComparison = { certain: identical, possible: foldNames };

export interface NameFolding {
  /** The store treats `a` and `A` as the same letter. */
  readonly ignoresCase: boolean;
  /** The store treats an accented letter (NFC) and the letter followed by a combining accent (NFD) as the same. */
  readonly ignoresForm: boolean;
}

/**
 * Returns the comparison of a store that folds names. File systems have different folding tables beyond ASCII, so
 * only ASCII letters and the Unicode normalization forms are certain.
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
 * Folds case and normalization as broadly as any file system does. Uses full Unicode case folding (`ß` is `ss`, the
 * Kelvin sign is `k`), and removes code points that ext4 and HFS+ ignore, such as U+200D.
 */
export function foldNames(path: string): string {
  const decomposed = path.normalize('NFD').replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '');
  // Full case folding maps `İ` to `i` and a combining dot. File systems that fold single letters map it to `i`.
  const dotless = decomposed.replaceAll(/i\p{M}+/giu, (letter) => letter.replaceAll('\u0307', ''));
  // Letters without an uppercase form of their own (`ſ`, `ı`, `ß`, `ς`) become equal only if lowercasing comes first.
  return dotless.toLowerCase().toUpperCase().normalize('NFD');
}
