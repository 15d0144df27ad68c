import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { FolderNames, safeName } from '../../src/zip/safe-names.ts';
import { anyCodePoint } from '../code-points.ts';
import { tries } from '../seeds.ts';
import { assertSafe } from './parse-archive.ts';

describe('Names in an archive', () => {
  it('remain as they are if any system can create them', () => {
    for (const name of [
      'a.txt',
      ' a',
      'ü',
      'u\u0308',
      '日本.txt',
      '.hidden',
      '-rf',
      '~',
      'console',
      'com',
      'a%20b',
      "it's",
      '👩‍👧',
    ])
      assert.equal(safeName(name), name);
  });

  it('get a "_" for characters that Windows does not allow, and at the end for dots and spaces', () => {
    for (const [name, safe] of [
      ['a<>:"|?*\\b', 'a________b'],
      ['a\u0085b', 'a_b'],
      ['a.', 'a_'],
      ['a. .', 'a___'],
      ['..', '__'],
      ['...', '___'],
      [' ', '_'],
      ['C:', 'C_'],
      ['..\\..\\x', '.._.._x'],
    ] as const)
      assert.equal(safeName(name), safe);
  });

  it('are not names of devices on Windows, with any extension', () => {
    for (const name of ['con', 'CON.txt', 'Aux', 'nul.tar.gz', 'COM1', 'lpt9.x', 'com¹', 'CONIN$', 'con .txt'])
      assert.equal(safeName(name), `_${name}`);
    assert.equal(safeName('nul. '), 'nul__');
  });

  it('have at most 255 bytes, with their extension', () => {
    for (const name of [
      `${'a'.repeat(300)}.txt`,
      `${'日'.repeat(200)}.txt`,
      '👩'.repeat(250),
      `a.${'b'.repeat(400)}`,
    ]) {
      const safe = safeName(name);
      assert.ok(Buffer.byteLength(safe) <= 255 && Buffer.byteLength(safe) > 240, safe);
      assert.ok(safe.isWellFormed());
      assert.equal(safe.endsWith('.txt'), name.endsWith('.txt'));
    }
  });

  it('get a number if another one is the same without case or Unicode form', () => {
    const namesOf = (...names: string[]) => {
      const folder = new FolderNames();
      return names.map((name) => folder.add(name));
    };
    assert.deepEqual(namesOf('a.txt', 'A.TXT', 'a.Txt'), ['a.txt', 'A (2).TXT', 'a (3).Txt']);
    assert.deepEqual(namesOf('ü', 'u\u0308', 'Ü'), ['ü', 'u\u0308 (2)', 'Ü (3)']);
    assert.deepEqual(namesOf('a?', 'a*', 'a_'), ['a_', 'a_ (2)', 'a_ (3)']);
    assert.deepEqual(namesOf('a', 'A', 'a (2)'), ['a', 'A (2)', 'a (2) (2)']);
    assert.deepEqual(namesOf('a (2)', 'a', 'A'), ['a (2)', 'a', 'A (3)']);
    const long = 'a'.repeat(255);
    assert.deepEqual(namesOf(long, long.toUpperCase()), [long, `${'A'.repeat(251)} (2)`]);
  });

  it('are safe and different whatever the names are, and the same each time', (t) => {
    const name = fc
      .oneof(
        fc.string({ unit: anyCodePoint, minLength: 1, maxLength: 12 }),
        fc.constantFrom(
          'con',
          'CON',
          'a',
          'A',
          'a.',
          'a ',
          'a_',
          'nul.x',
          'a (2)',
          '..',
          'ß',
          'SS',
          'ſ',
          's',
          '\u200d',
        ),
        fc.string({
          unit: fc.constantFrom('a', 'A', '.', ' ', '_', '?', 'ü', '\u0308', '日', '😀'),
          minLength: 1,
          maxLength: 400,
        }),
      )
      .filter((text) => text.isWellFormed() && !text.includes('/'));
    fc.assert(
      fc.property(fc.array(name, { maxLength: 30 }), (names) => {
        const [first, second] = [new FolderNames(), new FolderNames()];
        const safe = names.map((text) => first.add(text));
        assertSafe(safe);
        assert.deepEqual(
          names.map((text) => second.add(text)),
          safe,
        );
      }),
      tries(t, 150),
    );
  });

  it('take linear time for equal names', () => {
    const folder = new FolderNames();
    let last = '';
    for (let count = 0; count < 20_000; count++) last = folder.add('same.txt');
    assert.equal(last, 'same (20000).txt');
  });
});
