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
    return numberedPaths(parsed).take(count).toArray();
  };

  it('have the number before the extension', () => {
    assert.deepEqual(first('f/cat.jpg', 3), ['f/cat.jpg', 'f/cat (2).jpg', 'f/cat (3).jpg']);
    assert.deepEqual(first('cat (9).tar.gz', 2), ['cat (9).tar.gz', 'cat (10).tar.gz']);
    assert.deepEqual(first('.profile', 2), ['.profile', '.profile (2)']);
    assert.deepEqual(first('a/v1.0/', 2), ['a/v1.0/', 'a/v1.0 (2)/']);
  });

  it('end after a hundred names, and before one that is too long', () => {
    assert.equal(first('a', 1000).length, 101);
    const long = 'x'.repeat(1022);
    assert.throws(() => first(long, 3), { code: 'path-too-long' });
    assert.equal(first(long, 1).length, 1);
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
