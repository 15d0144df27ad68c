import assert from 'node:assert/strict';
import { it } from 'node:test';
import { matchesIn } from '../../../web/src/features/folder/matches.ts';

const marked = (name: string, filter: string) => {
  let text = '';
  let done = 0;
  for (const [start, end] of matchesIn(name, filter)) {
    text += `${name.slice(done, start)}[${name.slice(start, end)}]`;
    done = end;
  }
  return text + name.slice(done);
};

it('The words of a filter are found in a name, regardless of case and accents', () => {
  assert.equal(marked('Annual report 2025.pdf', 'REP 2025'), 'Annual [rep]ort [2025].pdf');
  assert.equal(marked('Änderung.md', 'and'), '[Änd]erung.md');
  assert.equal(marked('Pe\u0301rez.txt', 'per'), '[Pe\u0301r]ez.txt');
  assert.equal(marked('banana.txt', 'ana nan'), 'b[anana].txt');
  assert.equal(marked('ﬁnal.txt', 'fi'), '[ﬁ]nal.txt');
  assert.equal(marked('家族旅行😀.jpg', '旅行😀'), '家族[旅行😀].jpg');
  assert.equal(marked('a.txt', 'q'), 'a.txt');
  assert.equal(marked('a.txt', '  '), 'a.txt');
});
