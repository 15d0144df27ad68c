import { StoreError } from './error.ts';

/** Bytes asked for: from `start` up to and with `end` (to the last where there is none), or the last `suffix`. */
export type ByteRange = { readonly start: number; readonly end?: number } | { readonly suffix: number };

/** Bytes of a file of known size: `start` up to and with `end`. */
export interface ResolvedRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What `range` means in a file of `size` bytes (RFC 9110, section 14.1.2): an end behind the last byte is the
 * last byte, a suffix longer than the file is all of it. Throws `range-unsatisfiable` where no byte is left.
 */
export function resolveRange(range: ByteRange, size: number): ResolvedRange {
  const start = 'suffix' in range ? Math.max(0, size - range.suffix) : range.start;
  const end = 'suffix' in range ? size - 1 : Math.min(range.end ?? size - 1, size - 1);
  if (start > end) {
    throw new StoreError('range-unsatisfiable', `The range asked for is not within the ${size} bytes of the file.`);
  }
  return { start, end };
}
