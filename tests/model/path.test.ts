import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  childFile,
  childFolder,
  comparePaths,
  type FilePath,
  type FolderPath,
  foundFile,
  foundFolder,
  isWithin,
  nameOf,
  parentOf,
  parseFile,
  parseFolder,
  ROOT,
  rebase,
  withoutSlash,
} from '../../src/model/path.ts';
import { anyCodePoint } from '../code-points.ts';
import { NAMES } from '../contract/names.ts';

const invalid = (message: RegExp) => ({ name: 'StoreError', kind: 'invalid-path', message });

/** Invalid segments, and the rule that the error names. */
const INVALID_SEGMENTS: readonly (readonly [segment: string, rule: RegExp])[] = [
  ['', /empty segment/],
  ['.', /the segment "\."/],
  ['..', /the segment "\.\."/],
  ...Array.from({ length: 32 }, (_, code) => [`a${String.fromCharCode(code)}b`, /control character/] as const),
  ['\u007f', /control character/],
  ['\ud800', /half of a surrogate pair/],
  ['\udfffa', /half of a surrogate pair/],
  ['a\udc00\ud800', /half of a surrogate pair/],
];

describe('parseFile', () => {
  it('keeps every valid name and removes only one leading slash', () => {
    for (const name of NAMES) {
      for (const path of [name, `a/${name}`, `${name}/a`]) {
        assert.equal(parseFile(path), path);
        assert.equal(parseFile(`/${path}`), path);
      }
    }
    for (const path of ['\u0080', '\u009f', '\u00a0', '...', ' . ', '.a', 'a.', '~', '\\..\\']) {
      assert.equal(parseFile(path), path);
    }
  });

  it('rejects an empty path and quotes it', () => {
    for (const path of ['', '/']) assert.throws(() => parseFile(path), invalid(/^The path "\/?" is empty/));
  });

  it('rejects an invalid segment anywhere and names the rule', () => {
    for (const [segment, rule] of INVALID_SEGMENTS) {
      for (const path of [`a/${segment}`, `a/${segment}/b`, `${segment}/a`]) {
        // One leading slash is allowed, so an empty first segment needs two.
        assert.throws(() => parseFile(segment === '' && path.startsWith('/') ? `/${path}` : path), invalid(rule), path);
      }
    }
    for (const path of ['a/', '/a/', '//a', '///'])
      assert.throws(() => parseFile(path), invalid(/empty segment/), path);
  });

  it('accepts 4,096 bytes of UTF-8 without the leading slash, and rejects more', () => {
    for (const longest of ['x'.repeat(4096), 'é'.repeat(2048), '日'.repeat(1365) + 'x', '😀'.repeat(1024)]) {
      assert.equal(parseFile(longest), longest);
      assert.equal(parseFile(`/${longest}`), longest);
      assert.throws(() => parseFile(`${longest}x`), {
        code: 'path-too-long',
        message: /has 4097 bytes\. The maximum is 4096\.$/,
      });
    }
  });

  it('shortens a long path in the error and escapes line breaks', () => {
    assert.throws(() => parseFile('x'.repeat(5000)), {
      code: 'path-too-long',
      message: /^The path "x{80}…x{39}" has 5000 bytes/,
    });
    assert.throws(() => parseFile('a\r\nSet-Cookie: x'), invalid(/^The path "a\\r\\nSet-Cookie: x" contains/));
    assert.throws(() => parseFile('\ud800'), invalid(/^The path "\ufffd" contains/));
  });
});

describe('parseFolder', () => {
  it('accepts a path with or without a trailing slash and returns it with one', () => {
    for (const [text, folder] of [
      ['', ''],
      ['/', ''],
      ['a', 'a/'],
      ['a/', 'a/'],
      ['/a', 'a/'],
      ['/a/', 'a/'],
      ['a/b c/', 'a/b c/'],
      [' ', ' /'],
    ] as const) {
      assert.equal(parseFolder(text), folder);
    }
    for (const name of NAMES) assert.equal(parseFolder(name), `${name}/`);
  });

  it('rejects an invalid segment anywhere and names the rule', () => {
    for (const [segment, rule] of INVALID_SEGMENTS) {
      for (const path of [`a/${segment}/`, `a/${segment}/b`]) {
        assert.throws(() => parseFolder(path), invalid(rule), JSON.stringify(path));
      }
    }
    for (const path of ['//', '///', 'a//', '//a']) {
      assert.throws(() => parseFolder(path), invalid(/empty segment/), path);
    }
  });

  it('counts the trailing slash in the 4,096 bytes, even if it is omitted', () => {
    const longest = 'x'.repeat(4095);
    assert.equal(parseFolder(longest), `${longest}/`);
    assert.equal(parseFolder(`/${longest}/`), `${longest}/`);
    for (const path of [`${longest}x`, `${longest}x/`]) {
      assert.throws(() => parseFolder(path), invalid(/4097 bytes/));
    }
  });
});

describe('childFile and childFolder', () => {
  it('join a folder and a name', () => {
    for (const name of NAMES) {
      assert.equal(childFile(parseFolder('a/b'), name), `a/b/${name}`);
      assert.equal(childFile(ROOT, name), name);
      assert.equal(childFolder(parseFolder('a/b'), name), `a/b/${name}/`);
      assert.equal(childFolder(ROOT, name), `${name}/`);
    }
  });

  it('reject names with a slash, invalid names and paths that are too long', () => {
    for (const child of [childFile, childFolder]) {
      for (const name of ['/', '/a', 'a/', 'a/b', '../a']) {
        assert.throws(() => child(parseFolder('a'), name), invalid(/^The name ".*" contains a "\/"/));
        assert.throws(() => child(ROOT, name), invalid(/contains a "\/"/));
      }
      for (const [name, rule] of INVALID_SEGMENTS) assert.throws(() => child(ROOT, name), invalid(rule));
      assert.throws(() => child(parseFolder('x'.repeat(4000)), 'y'.repeat(96)), { code: 'path-too-long' });
    }
  });
});

describe('foundFile and foundFolder', () => {
  it('return the path of an entry, or undefined if it is not a valid path', () => {
    assert.equal(foundFile(parseFolder('a'), 'b', 1024), 'a/b');
    assert.equal(foundFolder(parseFolder('a'), 'b', 1024), 'a/b/');
    for (const [name] of INVALID_SEGMENTS) {
      assert.equal(foundFile(ROOT, name, 1024), undefined, JSON.stringify(name));
      assert.equal(foundFolder(ROOT, name, 1024), undefined, JSON.stringify(name));
    }
    const folder = parseFolder('x'.repeat(1000));
    assert.equal(foundFile(folder, 'y'.repeat(23), 1024), `${folder}${'y'.repeat(23)}`);
    assert.equal(foundFile(folder, 'y'.repeat(24), 1024), undefined);
    assert.equal(foundFolder(folder, 'y'.repeat(22), 1024), `${folder}${'y'.repeat(22)}/`);
    assert.equal(foundFolder(folder, 'y'.repeat(23), 1024), undefined);
  });
});

describe('nameOf, parentOf and withoutSlash', () => {
  it('return the name, the parent, and the path without a trailing slash', () => {
    for (const [path, name, parent, bare] of [
      ['a', 'a', '', 'a'],
      ['a/', 'a', '', 'a'],
      ['a/b', 'b', 'a/', 'a/b'],
      ['a/b/', 'b', 'a/', 'a/b'],
      ['a/b/c d', 'c d', 'a/b/', 'a/b/c d'],
      ['', '', '', ''],
    ] as const) {
      const parsed = path as FilePath | FolderPath;
      assert.deepEqual([nameOf(parsed), parentOf(parsed), withoutSlash(parsed)], [name, parent, bare]);
    }
  });
});

describe('isWithin', () => {
  it('compares whole segments', () => {
    for (const [path, folder, within] of [
      ['a/b', 'a/', true],
      ['a/', 'a/', true],
      ['a/b/c/', 'a/', true],
      ['ab/', 'a/', false],
      ['ab', 'a/', false],
      ['a', 'a/', false],
      ['a.txt', 'a/', false],
      ['b/a/', 'a/', false],
      ['a/', 'a/b/', false],
      ['a', '', true],
      ['', '', true],
    ] as const) {
      assert.equal(isWithin(path as FilePath, folder as FolderPath), within, `${path} in ${folder}`);
    }
  });
});

describe('rebase', () => {
  it('replaces the source folder with the destination folder', () => {
    const [a, b] = [parseFolder('a'), parseFolder('b/c')];
    assert.equal(rebase(parseFile('a/x/y'), a, b, 1024), 'b/c/x/y');
    assert.equal(rebase(parseFolder('a/x'), a, b, 1024), 'b/c/x/');
    assert.equal(rebase(a, a, b, 1024), 'b/c/');
    assert.equal(rebase(parseFile('a/a/a/x'), a, b, 1024), 'b/c/a/a/x');
    assert.equal(rebase(parseFile('a/x'), ROOT, b, 1024), 'b/c/a/x');
  });

  it('rejects a result over the limit', () => {
    const [a, file] = [parseFolder('a'), parseFile(`a/${'x'.repeat(1000)}`)];
    assert.equal(rebase(file, a, parseFolder('b'.repeat(23)), 1024).length, 1024);
    assert.throws(() => rebase(file, a, parseFolder('b'.repeat(24)), 1024), invalid(/1025 bytes/));
    assert.throws(() => rebase(file, a, parseFolder('é'.repeat(12)), 1024), invalid(/1025 bytes/));
  });
});

describe('comparePaths', () => {
  it('orders paths by their UTF-8 bytes', () => {
    const text = fc.oneof(
      fc.string({ unit: anyCodePoint, maxLength: 6 }),
      fc.array(fc.constantFrom('a', 'é', '\ud7ff', '\ue000', '\uffee', '\uffff', '\u{10000}', '\u{1f600}'), {
        maxLength: 4,
      }),
    );
    const anyText = text.map((given) => (Array.isArray(given) ? given.join('') : given));
    fc.assert(
      fc.property(anyText, anyText, anyText, (prefix, left, right) => {
        const bytes = Buffer.compare(Buffer.from(prefix + left), Buffer.from(prefix + right));
        assert.equal(Math.sign(comparePaths(prefix + left, prefix + right)), bytes);
      }),
      { numRuns: 2000 },
    );
  });

  it('sorts a folder by its trailing slash', () => {
    const sorted = ['a', 'a-b', 'a.txt', 'a/', 'a/b', 'a0', 'ab', 'b/', 'é', '\uffee', '\u{1f600}'];
    assert.deepEqual(sorted.toReversed().toSorted(comparePaths), sorted);
  });
});
