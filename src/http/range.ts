import type { ByteRange } from '../domain/range.ts';

/**
 * The one range that a `Range` header asks for (RFC 9110, section 14.2), or undefined where the whole file is to
 * be given: no header, another unit, a malformed one, or several ranges, which a server is free to ignore.
 */
export function parseRange(header: string | undefined): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)-(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const [start, end] = [first, last].map((digits) => Math.min(Number(digits), Number.MAX_SAFE_INTEGER)) as [
    number,
    number,
  ];
  if (first === '') return { suffix: end };
  if (last === '') return { start };
  return start > end ? undefined : { start, end };
}
