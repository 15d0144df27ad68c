/**
 * The headers for conditions and ranges, as parameters of the OpenAPI document (RFC 9110, sections 13.1 and 14.2). Each
 * operation names those that it evaluates, and ignores the others.
 */
export const CONDITION_HEADERS = {
  'If-Match': {
    description: 'ETags, or `*`. The response is 412 unless the current version has one of them, or, with `*`, exists.',
    example: '"1a0rw-g-dn0b18zm6jcb"',
  },
  'If-None-Match': {
    description:
      'ETags, or `*`. If the current version has one of them, or, with `*`, exists, the response is 304 to GET and HEAD, and otherwise 412.',
    example: '"1a0rw-g-dn0b18zm6jcb"',
  },
  'If-Modified-Since': {
    description: 'A date. The response is 304 unless the file was modified later. Ignored with `If-None-Match`.',
    example: 'Sun, 29 Nov 2026 09:30:00 GMT',
  },
  'If-Unmodified-Since': {
    description:
      'A date. The response is 412 if the file was modified later. Ignored with `If-Match`, and for folders.',
    example: 'Sun, 29 Nov 2026 09:30:00 GMT',
  },
  Range: {
    description: 'One range of bytes. For several ranges, the response is the whole content.',
    example: 'bytes=0-1023',
  },
  'If-Range': {
    description: 'An ETag or the value of `Last-Modified`. `Range` is ignored unless the current version has it.',
    example: '"1a0rw-g-dn0b18zm6jcb"',
  },
} as const satisfies Readonly<Record<string, { readonly description: string; readonly example: string }>>;

export type ConditionHeader = keyof typeof CONDITION_HEADERS;
