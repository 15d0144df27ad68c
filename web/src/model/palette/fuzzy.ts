/** How a query matches a text. */
export interface FuzzyMatch {
  /** The better the match, the higher. */
  readonly score: number;
  /** The text in parts, in order: those that match, and those between them. */
  readonly parts: readonly { readonly text: string; readonly isMatch: boolean }[];
}

/** The maximum number of characters that are compared. */
const MAX_QUERY = 64;
const MAX_TEXT = 256;

const SCORES = {
  character: 1,
  /** The character follows the previous match directly. */
  adjacent: 12,
  /** The character begins a word. */
  wordStart: 8,
  /** The character begins the text. */
  textStart: 4,
};

/**
 * Matches the characters of a query in their order, with any others between them. Ignores case and accents. Prefers beginnings
 * of words, adjacent characters and short texts. Returns undefined if a character is missing.
 */
export function fuzzyMatch(query: string, text: string): FuzzyMatch | undefined {
  const searched = foldedCharacters(query.replace(/\s+/g, '')).slice(0, MAX_QUERY);
  const characters = Array.from(text);
  if (searched.length === 0) return { score: 0, parts: [{ text, isMatch: false }] };
  const folded = characters.slice(0, MAX_TEXT).map(fold);
  const positions = bestPositions(searched, folded, characters);
  if (!positions) return undefined;
  return {
    score: positions.score - Math.min(characters.length, MAX_TEXT) / MAX_TEXT,
    parts: partsOf(characters, new Set(positions.indices)),
  };
}

/** Returns the positions of the matched characters with the highest score. */
function bestPositions(
  searched: readonly string[],
  folded: readonly string[],
  characters: readonly string[],
): { score: number; indices: readonly number[] } | undefined {
  /** By position in the text: the score of the best match of the query so far that ends there. */
  let ending: readonly number[] = folded.map(() => 0);
  const previous: (readonly number[])[] = [];
  for (const [row, character] of searched.entries()) {
    const next: number[] = [];
    const from: number[] = [];
    let best = row === 0 ? 0 : Number.NEGATIVE_INFINITY;
    let bestAt = -1;
    for (const [index, candidate] of folded.entries()) {
      const before = index > 0 && row > 0 ? (ending[index - 1] ?? Number.NEGATIVE_INFINITY) : Number.NEGATIVE_INFINITY;
      if (before > best) {
        best = before;
        bestAt = index - 1;
      }
      const adjacent = before + SCORES.adjacent;
      const isAdjacent = adjacent >= best;
      const base =
        candidate === character ? Math.max(best, adjacent) + valueOf(characters, index) : Number.NEGATIVE_INFINITY;
      next.push(base);
      from.push(isAdjacent ? index - 1 : bestAt);
    }
    ending = next;
    previous.push(from);
  }
  const score = Math.max(...ending);
  if (!Number.isFinite(score)) return undefined;
  const indices: number[] = [];
  let index = ending.indexOf(score);
  for (let row = searched.length - 1; row >= 0; row--) {
    indices.unshift(index);
    index = previous[row]?.[index] ?? -1;
  }
  return { score, indices };
}

/** Returns the value of a match at a position. */
function valueOf(characters: readonly string[], index: number): number {
  const before = characters[index - 1];
  const character = characters[index] ?? '';
  const isCamel = before !== undefined && /\p{Ll}/u.test(before) && /\p{Lu}/u.test(character);
  const isWordStart = before === undefined || isCamel || !/[\p{L}\p{N}\p{M}]/u.test(before);
  return SCORES.character + (isWordStart ? SCORES.wordStart : 0) + (before === undefined ? SCORES.textStart : 0);
}

function partsOf(characters: readonly string[], matched: ReadonlySet<number>): FuzzyMatch['parts'] {
  const parts: { text: string; isMatch: boolean }[] = [];
  for (const [index, character] of characters.entries()) {
    const isMatch = matched.has(index);
    const last = parts.at(-1);
    if (last?.isMatch === isMatch) last.text += character;
    else parts.push({ text: character, isMatch });
  }
  return parts;
}

const foldedCharacters = (text: string) => Array.from(text, fold).filter((character) => character !== '');

/** Returns a character in lower case, without accents; empty for a combining accent. */
const fold = (character: string) => character.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
