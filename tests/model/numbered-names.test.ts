import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { numberedPaths } from '../../src/model/numbered-names.ts';
import { isFolder, nameOf, parseFile, parseFolder } from '../../src/model/path.ts';
import { freeName } from '../../web/src/platform/free-name.ts';
import { tries } from '../seeds.ts';

describe('Numbered names', () => {
  const first = (path: string, count: number) => {
    const parsed = path.endsWith('/') ? parseFolder(path) : parseFile(path);
    return numberedPaths(parsed, 1024).take(count).toArray();
  };

  it('have the number before the extension', () => {
    assert.deepEqual(first('f/cat.jpg', 3), ['f/cat.jpg', 'f/cat (2).jpg', 'f/cat (3).jpg']);
    assert.deepEqual(first('cat (9).tar.gz', 2), ['cat (9).tar.gz', 'cat (10).tar.gz']);
    assert.deepEqual(first('.profile', 2), ['.profile', '.profile (2)']);
    assert.deepEqual(first('a/v1.0/', 2), ['a/v1.0/', 'a/v1.0 (2)/']);
  });

  it('are random after a hundred consecutive numbers, and end', () => {
    const names = first('a', 1000);
    assert.equal(names.at(100), 'a (101)');
    assert.equal(names.length, 111);
    for (const name of names.slice(101)) assert.match(name, /^a \(\d{9}\)$/);
  });

  it('shorten a name that has no space for the number', () => {
    const bytesOf = (path: string | undefined = '') => Buffer.byteLength(nameOf(parseFile(path)));
    assert.deepEqual(first(`f/${'x'.repeat(251)}.txt`, 2).at(1), `f/${'x'.repeat(247)} (2).txt`);
    const [, shortened] = first(`${'\u{1f600}'.repeat(63)}.g`, 2);
    assert.equal(shortened, `${'\u{1f600}'.repeat(62)} (2).g`);
    // A bucket has longer names.
    assert.deepEqual(
      first('x'.repeat(1022), 111)
        .map(bytesOf)
        .filter((bytes) => bytes !== 1022),
      [],
    );
    const inLongFolder = `${'f/'.repeat(400)}${'x'.repeat(220)}`;
    assert.deepEqual(
      first(inLongFolder, 111)
        .slice(1)
        .map((path) => Buffer.byteLength(path))
        .filter((bytes) => bytes !== 1024),
      [],
    );
    assert.throws(() => first(`${'f/'.repeat(511)}xx`, 2), { code: 'path-too-long' });
  });

  it('are those of the web UI', (t) => {
    const part = fc.stringMatching(/^[a-z0-9 .()]{1,12}$/);
    const numbered = fc.oneof(
      part,
      fc.tuple(part, fc.nat(99)).map(([stem, number]) => `${stem} (${number}).txt`),
    );
    const name = numbered.filter((each) => !/^\.{1,2}$/.test(each));
    fc.assert(
      fc.property(name, fc.boolean(), (text, asFolder) => {
        const [path, next] = first(asFolder ? `${text}/` : text, 2);
        assert.ok(path !== undefined && next !== undefined);
        assert.equal(
          nameOf(next),
          freeName(text, (each) => each === text, isFolder(path)),
        );
      }),
      tries(t, 200),
    );
  });
});
