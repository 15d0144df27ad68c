import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { messageWithCause, quoted, rootCauseOf, StoreError } from '../../src/model/error.ts';

describe('quoted', () => {
  it('escapes control and bidirectional characters, and replaces lone surrogates', () => {
    assert.equal(quoted('a\u0000\u001f\u007f\u0080\u009fb'), '"a\\u0000\\u001f\\u007f\\u0080\\u009fb"');
    assert.equal(quoted('\u202egpj.exe\u2069\u200f\u061c\u2028'), '"\\u202egpj.exe\\u2069\\u200f\\u061c\\u2028"');
    assert.equal(quoted('half \ud800'), '"half \ufffd"');
  });

  it('keeps all other characters', () =>
    assert.equal(quoted('naïve\u00a0файл ملف 文件 👩‍💻'), '"naïve\u00a0файл ملف 文件 👩‍💻"'));

  it('shortens a long text to 120 characters, and keeps its end', () => {
    assert.equal(quoted('😀'.repeat(120)), `"${'😀'.repeat(120)}"`);
    assert.equal(quoted(`${'😀'.repeat(121)}.jpg`), `"${'😀'.repeat(80)}…${'😀'.repeat(35)}.jpg"`);
  });
});

describe('rootCauseOf', () => {
  const caused = (cause: unknown) => new StoreError('store-unreachable', 'The store is unreachable.', { cause });

  it('returns the message of the innermost cause that has one', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:9');
    const each = Object.assign(new AggregateError([refused, new Error('other')]), { code: 'ECONNREFUSED' });
    for (const cause of [refused, new Error('', { cause: refused }), new TypeError('fetch failed', { cause: each })]) {
      assert.equal(rootCauseOf(caused(cause)), refused.message);
    }
    assert.equal(rootCauseOf(caused(new Error('outer', { cause: new Error('') }))), 'outer');
  });

  it('returns undefined without a cause, and for causes that are no errors', () => {
    for (const error of [caused(undefined), caused('text'), caused(new Error('')), 'text']) {
      assert.equal(rootCauseOf(error), undefined);
    }
  });

  it('returns one line of at most 300 characters without control characters', () => {
    assert.equal(rootCauseOf(caused(new Error('a\r\n  b\u001b[31m\u202ec\u0007'))), 'a b [31m\\u202ec');
    assert.equal(rootCauseOf(caused(new Error('x'.repeat(1000))))?.length, 300);
  });
});

describe('messageWithCause', () => {
  it('adds the root cause, unless the message contains it', () => {
    const cause = new Error('EROFS');
    assert.equal(messageWithCause(new Error('It failed.', { cause })), 'It failed. Cause: EROFS');
    assert.equal(messageWithCause(new Error('It failed: EROFS.', { cause })), 'It failed: EROFS.');
    assert.equal(messageWithCause(cause), 'EROFS');
  });
});
