import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createFormats } from '../../../web/src/platform/text/formats.ts';

const NOW = '2026-11-27T09:00:00';

it('Times name the day if it is near, otherwise the date with its year', () => {
  const { time } = createFormats('en-US', () => new Date(NOW));
  for (const [at, expected] of [
    ['2026-11-27T20:41:00', 'today, 8:41 PM'],
    ['2026-11-27T00:00:00', 'today, 12:00 AM'],
    ['2026-11-26T23:59:00', 'yesterday, 11:59 PM'],
    ['2026-11-28T08:00:00', 'tomorrow, 8:00 AM'],
    ['2026-11-25T08:00:00', 'Wednesday, 8:00 AM'],
    ['2026-11-21T08:00:00', 'Saturday, 8:00 AM'],
    ['2026-11-20T08:00:00', 'Nov 20, 2026'],
    ['2026-11-29T08:00:00', 'Nov 29, 2026'],
    ['2019-02-03T08:00:00', 'Feb 3, 2019'],
  ] as const) {
    assert.equal(time(new Date(at)).replaceAll('\u202f', ' '), expected);
  }
});

it('Times have the words and the separators of the language', () => {
  const at = new Date('2026-11-26T20:41:00');
  const yesterday = (locale: string) => createFormats(locale, () => new Date(NOW)).time(at);
  assert.equal(yesterday('de'), 'gestern, 20:41');
  assert.equal(yesterday('fr'), 'hier, 20:41');
  assert.equal(yesterday('es'), 'ayer, 20:41');
  assert.equal(yesterday('ja'), '昨日 20:41');
  assert.equal(yesterday('zh-Hans'), '昨天 20:41');
  assert.match(yesterday('ar'), /^أمس، /);
});
