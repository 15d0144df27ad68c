import type { ByteRange } from '../domain/range.ts';

/**
 * The one range that a `Range` header asks for (RFC 9110, section 14.2), or undefined where the whole file is to
 * be given: no header, another unit, a malformed one, or several ranges, which a server is free to ignore.
 */
export function parseRange(header: string | undefined): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') return { suffix: Number(last) };
  if (last === '') return { start: Number(first) };
  return Number(first) > Number(last) ? undefined : { start: Number(first), end: Number(last) };
}
