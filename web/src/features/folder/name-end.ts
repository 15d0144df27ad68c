/**
 * The maximum and the default length of the part of a stem that stays with the extension. The default applies without
 * a separator.
 */
const MAX_END = 14;
const DEFAULT_END = 8;

/**
 * Returns the index at which the end of a stem begins: after a separator if possible, and never inside a character, or inside a number
 * or date of a right-to-left name, whose parts would change places.
 */
export function endOf(stem: string): number {
  const end = endAfterSeparator(stem);
  if (!RIGHT_TO_LEFT.test(stem)) return end;
  const [number = ''] = stem
    .slice(0, end)
    .split(/[^\d_.-]/)
    .slice(-1);
  return end - number.replace(/^[_.-]+/, '').length;
}

function endAfterSeparator(stem: string): number {
  const earliest = Math.max(0, stem.length - MAX_END);
  const separator = stem.slice(earliest, -1).search(/[\s_.-]/);
  if (separator >= 0) return earliest + separator + 1;
  let end = Math.max(0, stem.length - DEFAULT_END);
  while (end > 0 && (CONTINUES.test(stem.slice(end)) || stem[end - 1] === JOINER)) end -= 1;
  return end;
}

/**
 * Returns the index at which the end of a displayed name begins that rows never omit. It is the length of the name if
 * too little would stay before it: then rows omit the end of the name. So they do if a right-to-left name starts with a number, of which
 * a short start would lose the first digits.
 */
export function endOfName(name: string, stem: string): number {
  const end = endOf(stem);
  const isShort = name.slice(0, end).replaceAll(NARROW, '').length < MIN_WIDE;
  return isShort || (/^\d/.test(name) && RIGHT_TO_LEFT.test(name)) ? name.length : end;
}

/** Characters that take little room or none. Of all others, four are at least as wide as the start of a name in `entries.css`. */
const NARROW = /[\p{M}\p{Cf}\s\p{P}fijlrtI1]/gu;
const MIN_WIDE = 4;

/** Matches names whose first letter is Hebrew, Arabic or of a related script. */
const RIGHT_TO_LEFT = /^\P{L}*[\u0590-\u08ff]/u;

/** Matches code units that continue a character: low surrogates, marks, joiners and variation selectors. */
const CONTINUES = /^[\udc00-\udfff\p{M}\p{Cf}\p{Emoji_Modifier}]/u;
const JOINER = '\u200d';
