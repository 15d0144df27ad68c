import { StoreError } from './error.ts';

/**
 * A requested byte range: `start` to `end` inclusive (to the last byte if `end` is absent), or the last `suffix`
 * bytes.
 */
export type ByteRange = { readonly start: number; readonly end?: number } | { readonly suffix: number };

/** A byte range of a file of known size: `start` to `end` inclusive. */
export interface ResolvedRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Resolves `range` for a file of `size` bytes (RFC 9110, section 14.1.2). An `end` after the last byte means the last
 * byte; a suffix longer than the file means the whole file. Throws `range-unsatisfiable` if the range contains no
 * byte.
 */
export function resolveRange(range: ByteRange, size: number): ResolvedRange {
  const start = 'suffix' in range ? Math.max(0, size - range.suffix) : range.start;
  const end = 'suffix' in range ? size - 1 : Math.min(range.end ?? size - 1, size - 1);
  if (start > end) {
    throw new StoreError(
      'range-unsatisfiable',
      `The range starts after the last byte of the file, which has ${size} bytes.`,
    );
  }
  return { start, end };
}
