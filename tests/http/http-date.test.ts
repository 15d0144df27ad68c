import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatHttpDate } from '../../src/http/http-date.ts';

it('formats HTTP dates like the platform, in any order and far from today', () => {
  const day = 86_400_000;
  const days = [0, -1, 1, 20_000, 20_001, -719_529, 2_932_896, 100_000_000, -100_000_000];
  for (const time of days.flatMap((each) => [0, 1, 999, 59_999, day - 1].map((rest) => each * day + rest))) {
    if (Math.abs(time) > 8.64e15) continue;
    assert.equal(formatHttpDate(time), new Date(time).toUTCString(), String(time));
  }
});
