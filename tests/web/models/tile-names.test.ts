import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fitName } from '../../../web/src/features/folder/fit-name.ts';
import { endOfName } from '../../../web/src/features/folder/name-end.ts';

/** Each character is one pixel wide. */
const fit = (name: string, width: number) => fitName(name, width, (text) => text.length);

it('The name of a tile takes up to two lines, and breaks between words if it fits that way', () => {
  assert.deepEqual(fit('short.txt', 10), { lines: 'short.txt', isCut: false });
  assert.deepEqual(fit('Annual report.pdf', 10), { lines: 'Annual report.pdf', isCut: false });
  assert.deepEqual(fit('IMG_20260704_15.jpg', 10), { lines: 'IMG_20260704_15.jpg', isCut: true });
});

it('The first line of a longer name has whole words, if they fill most of it', () => {
  const name = 'A very long file name that a program exported (2) FINAL-v3.pdf';
  assert.deepEqual(fit(name, 22), { lines: 'A very long file name that…(2) FINAL-v3.pdf', isCut: false });
  assert.equal(fit('On 20260704_at_the_lake_153012_HDR.mov', 12).isCut, true);
});

it('A longer name keeps its end and its extension', () => {
  const { lines, isCut } = fit('IMG_20260704_at_the_lake_153012_HDR.mov', 12);
  assert.equal(lines, 'IMG_20260…153012_HDR.mov');
  assert.equal(isCut, true);
  // No emoji is split, and a name that has no room at all keeps its end.
  assert.equal(fit(`${'👨‍👩‍👧'.repeat(4)} and many more_12345678.jpg`, 13).lines, '👨‍👩‍👧…more_12345678.jpg');
  assert.equal(fit('a very long name_12345678.jpg', 4).lines, '…name_12345678.jpg');
});

it('The end of a right-to-left name begins before a number, whose parts would change places, and a number at the start has none', () => {
  const parts = (stem: string) => {
    const end = endOfName(`${stem}.pdf`, stem);
    return [stem.slice(0, end), stem.slice(end)];
  };
  assert.deepEqual(parts('عقد العمل 15_2024-05-01'), ['عقد العمل ', '15_2024-05-01']);
  assert.deepEqual(parts('2024-05-01 עקד'), ['2024-05-01 עקד', '']);
  assert.deepEqual(parts('2024-05-01 report'), ['2024-', '05-01 report']);
});
