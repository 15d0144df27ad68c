import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fuzzyMatch } from '../../../web/src/model/palette/fuzzy.ts';
import { createPathCompletion, parseTypedPath } from '../../../web/src/model/palette/path-completion.ts';
import { when } from './folder-scene.ts';
import { createMemoryService } from './upload-service.ts';

/** Returns the text with its matched characters in brackets. */
const marked = (query: string, text: string) =>
  fuzzyMatch(query, text)
    ?.parts.map((part) => (part.isMatch ? `[${part.text}]` : part.text))
    .join('');

describe('The fuzzy match', () => {
  it('finds characters in their order, and prefers beginnings of words and adjacent characters', () => {
    for (const [query, text, expected] of [
      ['', 'New folder', 'New folder'],
      ['nf', 'New folder', '[N]ew [f]older'],
      ['old', 'New folder', 'New f[old]er'],
      ['new  FOLDER', 'New folder', '[New] [folder]'],
      ['mp', 'holiMyPhoto', 'holi[M]y[P]hoto'],
      ['ur', 'Übersicht Rom', '[Ü]bersicht [R]om'],
      ['ré', 'Resume', '[Re]sume'],
      ['上', '上传', '[上]传'],
      ['👩', 'a 👩 b', 'a [👩] b'],
      ['fn', 'New folder', undefined],
      ['x', '', undefined],
    ] as const) {
      assert.equal(marked(query, text), expected, `${query} in ${text}`);
    }
  });

  it('ranks better matches first', () => {
    const ranked = (query: string, ...texts: string[]) =>
      texts.toSorted((left, right) => (fuzzyMatch(query, right)?.score ?? -1) - (fuzzyMatch(query, left)?.score ?? -1));
    assert.deepEqual(ranked('doc', 'mydocuments', 'duo c', 'Documents', 'The documents'), [
      'Documents',
      'The documents',
      'mydocuments',
      'duo c',
    ]);
    assert.deepEqual(ranked('doc', 'Documents of 2026', 'Doc'), ['Doc', 'Documents of 2026']);
  });

  it('keeps the text, whatever it is', () => {
    for (const text of [
      '\ud800a',
      'a\udc00',
      '\u202eexe.txt',
      'ﬁle',
      'İstanbul',
      'a\u0301\u0302b',
      '\0',
      'a'.repeat(2000),
    ]) {
      for (const query of ['a', 'i', 'fi', '\ud800', 'e\u0301', '']) {
        const match = fuzzyMatch(query, text);
        if (match) assert.equal(match.parts.map((part) => part.text).join(''), text);
      }
    }
  });
});

describe('The completion of paths', () => {
  it('parses what the user types', () => {
    assert.equal(parseTypedPath('a/b'), undefined);
    assert.deepEqual(parseTypedPath('/'), { folder: '', rest: '' });
    assert.deepEqual(parseTypedPath('/a'), { folder: '', rest: 'a' });
    assert.deepEqual(parseTypedPath('/a//b/c'), { folder: 'a/b/', rest: 'c' });
  });

  it('reads the subfolders of the folder, and reports one that does not exist', async () => {
    const { service } = createMemoryService({ 'a/1/x.txt': '', 'a/2/': '', 'a/y.txt': '' });
    const completion = createPathCompletion(service);
    completion.open('a/');
    assert.equal(completion.subfolders.value.state, 'reading');
    await when(() => completion.subfolders.value.state === 'ready');
    assert.deepEqual(completion.subfolders.value.paths, ['a/1/', 'a/2/']);
    completion.open('b/');
    await when(() => completion.subfolders.value.state === 'failed');
    assert.equal(completion.subfolders.value.problem?.isNotFound, true);
  });
});
