import { codePointOf } from '../../../platform/text/names.ts';

/** A part of a text; a bidirectional control character is a part of its own, with its code point. */
export interface BidiPart {
  readonly text: string;
  readonly code?: string;
}

/**
 * The maximum number of bidirectional control characters that are elements of their own, in a text and in a file. Browsers
 * lay out a line with thousands of such elements in seconds.
 */
const MAX_MARKED = 100;
const MAX_MARKED_IN_FILE = 1_000;

const CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/**
 * Splits a text at its bidirectional control characters. With them, source code looks different from what compilers
 * read (CVE-2021-42574). After the first 100 of them, the text contains their code points instead.
 */
export function bidiPartsOf(text: string): readonly BidiPart[] {
  // Most texts have none.
  if (!CONTROLS.test(text)) return [{ text }];
  // Each second part is a separator.
  const parts = new BidiLimit(MAX_MARKED).apply(text).split(/([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/);
  return parts
    .map((part, index) => (index % 2 === 0 ? { text: part } : { text: part, code: codePointOf(part) }))
    .filter((part, index) => part.text !== '' || index === 0);
}

/** Replaces all bidirectional control characters of a file by their code points, except the first ones. */
export class BidiLimit {
  #left: number;
  /** Results by text, because a sheet can repeat a long text often. */
  readonly #replaced = new Map<string, string>();

  constructor(max = MAX_MARKED_IN_FILE) {
    this.#left = max;
  }

  /** Returns the next text of the file. */
  apply(text: string): string {
    if (!CONTROLS.test(text)) return text;
    if (this.#left > 0) return text.replaceAll(ALL_CONTROLS, (control) => this.#next(control, control));
    const known = this.#replaced.get(text);
    if (known !== undefined) return known;
    const replaced = text.replaceAll(ALL_CONTROLS, codePointOf);
    this.#replaced.set(text, replaced);
    return replaced;
  }

  /** Returns the source of a JSON file, in which control characters can also be escaped. */
  applyToJson(source: string): string {
    // The other escape sequences match as well: of two backslashes, the second one starts none.
    return source.replaceAll(JSON_CONTROLS, (match, hex?: string) => {
      if (hex !== undefined) return this.#next(String.fromCharCode(Number.parseInt(hex, 16)), match);
      return match.startsWith('\\') ? match : this.#next(match, match);
    });
  }

  #next(control: string, written: string): string {
    this.#left -= 1;
    return this.#left >= 0 ? written : codePointOf(control);
  }
}

const ALL_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const JSON_CONTROLS = /\\(?:u(061c|200[ef]|202[a-e]|206[6-9])|[^])|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gi;
