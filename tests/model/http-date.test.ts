import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_RETRY_AFTER_SECONDS, parseRetryAfter } from '../../src/model/dates.ts';

describe('parseRetryAfter', () => {
  const NOW = 'Sun, 06 Nov 1994 08:49:37 GMT';

  for (const [header, seconds] of [
    ['0', 0],
    ['7', 7],
    [' 120 ', 120],
    ['1.2', 2],
    ['99999999999999', MAX_RETRY_AFTER_SECONDS],
    ['9'.repeat(400), MAX_RETRY_AFTER_SECONDS],
    ['Sun, 06 Nov 1994 08:50:07 GMT', 30],
    ['Sunday, 06-Nov-94 08:50:07 GMT', 30],
    ['Sun Nov  6 08:50:07 1994', 30],
    ['Sun, 06 Nov 1994 08:49:36 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', MAX_RETRY_AFTER_SECONDS],
  ] as const) {
    it(`returns ${seconds} for ${JSON.stringify(header.slice(0, 40))}`, () => {
      assert.equal(parseRetryAfter(header, NOW), seconds);
    });
  }

  for (const header of [
    undefined,
    null,
    7,
    '',
    '-5',
    '+5',
    '1e300',
    '0x10',
    'soon',
    '5, 5',
    'Sun, 31 Feb 1994 08:49:37 GMT',
  ]) {
    it(`returns undefined for ${JSON.stringify(header)}`, () => {
      assert.equal(parseRetryAfter(header, NOW), undefined);
    });
  }

  it('compares a date with the local clock when the response has no valid Date', () => {
    const inAMinute = new Date(Date.now() + 60_000).toUTCString();
    for (const date of [undefined, 'yesterday']) {
      const seconds = parseRetryAfter(inAMinute, date) ?? 0;
      assert.ok(seconds > 50 && seconds <= 60, String(seconds));
    }
  });
});
