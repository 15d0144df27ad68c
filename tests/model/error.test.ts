import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { quoted } from '../../src/model/error.ts';

describe('quoted', () => {
  it('escapes control and bidirectional characters, and replaces lone surrogates', () => {
    assert.equal(quoted('a\u0000\u001f\u007f\u0080\u009fb'), '"a\\u0000\\u001f\\u007f\\u0080\\u009fb"');
    assert.equal(quoted('\u202egpj.exe\u2069\u200f\u061c\u2028'), '"\\u202egpj.exe\\u2069\\u200f\\u061c\\u2028"');
    assert.equal(quoted('half \ud800'), '"half \ufffd"');
  });

  it('keeps all other characters', () =>
    assert.equal(quoted('naïve\u00a0файл ملف 文件 👩‍💻'), '"naïve\u00a0файл ملف 文件 👩‍💻"'));

  it('shortens a long text to 120 characters', () => assert.equal(quoted('😀'.repeat(121)), `"${'😀'.repeat(120)}…"`));
});
