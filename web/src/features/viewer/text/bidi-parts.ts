import { codePointOf } from '../../../platform/text/names.ts';

/** A part of a text; a bidirectional control character is a part of its own, with its code point. */
export interface BidiPart {
  readonly text: string;
  readonly code?: string;
}

/**
 * Splits a text at its bidirectional control characters. With them, source code looks different from what compilers
 * read (CVE-2021-42574).
 */
export function bidiPartsOf(text: string): readonly BidiPart[] {
  // Each second part is a separator.
  const parts = text.split(/([\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])/);
  return parts
    .map((part, index) => (index % 2 === 0 ? { text: part } : { text: part, code: codePointOf(part) }))
    .filter((part, index) => part.text !== '' || index === 0);
}
