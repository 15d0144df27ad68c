import * as fc from 'fast-check';

/** A replacement of this number of characters. */
interface Change {
  readonly at: number;
  readonly length: number;
  readonly by: string;
}

/**
 * Returns the values of `original` with one to three changes: single bytes, or `tokens` with a meaning in this syntax.
 */
export function mutated(original: fc.Arbitrary<string>, tokens: readonly string[]): fc.Arbitrary<string> {
  const change: fc.Arbitrary<Change> = fc.record({
    at: fc.nat({ max: 2000 }),
    length: fc.oneof(fc.constantFrom(0, 1, 1, 2), fc.nat({ max: 40 })),
    by: fc.oneof(
      fc.constantFrom('', ...tokens),
      fc.nat({ max: 255 }).map((code) => String.fromCharCode(code)),
    ),
  });
  return fc
    .tuple(original, fc.array(change, { minLength: 1, maxLength: 3 }))
    .map(([bytes, changes]) => changes.reduce(changed, bytes));
}

function changed(bytes: string, { at, length, by }: Change): string {
  const start = at % (bytes.length + 1);
  return bytes.slice(0, start) + by + bytes.slice(start + length);
}
