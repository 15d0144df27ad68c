import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseRange } from '../../src/http/preconditions.ts';

describe('Range (RFC 9110, section 14.2)', () => {
  it('can be a closed range, an open range or a suffix', () => {
    for (const [header, range] of [
      ['bytes=0-0', { start: 0, end: 0 }],
      ['bytes=0-499', { start: 0, end: 499 }],
      ['bytes=500-999', { start: 500, end: 999 }],
      ['bytes=9500-', { start: 9500 }],
      ['bytes=0-', { start: 0 }],
      ['bytes=-500', { suffix: 500 }],
      ['bytes=-0', { suffix: 0 }],
      ['Bytes=1-2', { start: 1, end: 2 }],
      ['BYTES=1-2', { start: 1, end: 2 }],
      ['bytes= 1-2 ', { start: 1, end: 2 }],
      ['bytes=007-010', { start: 7, end: 10 }],
      ['bytes=0-999999999999999', { start: 0, end: 999_999_999_999_999 }],
    ] as const) {
      assert.deepEqual(parseRange(header), range, header);
    }
  });

  it('means the whole file if it is missing, malformed, of another unit, or has several ranges', () => {
    for (const header of [
      undefined,
      '',
      'bytes',
      'bytes=',
      'bytes=-',
      'bytes=a-b',
      'bytes=1',
      'bytes=1-2-3',
      'bytes=--1',
      'bytes=1--2',
      'bytes=+1-2',
      'bytes=1.5-2',
      'bytes=1e3-',
      'bytes=0x1-0x2',
      'bytes=2-1',
      'bytes=0-1,3-4',
      'bytes=0-1, -1',
      'bytes=,0-1',
      'bytes:0-1',
      'bytes 0-1/10',
      '0-1',
      'items=0-1',
      'xbytes=0-1',
      'bytes=٣-٤',
      'bytes=0-1\nbytes=2-3',
    ]) {
      assert.equal(parseRange(header), undefined, String(header));
    }
  });

  it('never returns an inexact number', () => {
    for (const digits of ['9'.repeat(15), '9'.repeat(16), '9'.repeat(17), '1'.repeat(400)]) {
      for (const header of [`bytes=0-${digits}`, `bytes=${digits}-`, `bytes=-${digits}`]) {
        for (const number of Object.values(parseRange(header) ?? {})) {
          assert.ok(Number.isSafeInteger(number), header);
        }
      }
    }
  });
});
