import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CatalogueSource, compileCatalogue } from '../../../web/message-compiler.ts';
import { bindMessages, createFormatter } from '../../../web/src/platform/text/messages.ts';
import { withoutIsolates } from './languages.ts';

type Say = (parameters: Record<string, string | number>) => string;

function messageOf(source: string, locale: string): Say {
  const { message } = bindMessages(compileCatalogue({ message: source }), createFormatter(locale));
  assert.ok(typeof message === 'function');
  return message;
}

describe('A message', () => {
  it('is a string without parameters, and a function with them, in the same groups as in the catalogue', () => {
    const source: CatalogueSource = { folder: { empty: 'Empty', open: 'Open {name}' } };
    const { folder } = bindMessages(compileCatalogue(source), createFormatter('en'));
    assert.ok(typeof folder === 'object');
    assert.equal(folder['empty'], 'Empty');
    assert.equal(typeof folder['open'], 'function');
  });

  it('follows the plural categories of the language', () => {
    const arabic = messageOf(
      '{count, plural, zero {zero} one {one} two {two} few {few} many {many} other {other}}',
      'ar',
    );
    const counts = [0, 1, 2, 3, 11, 100, 103];
    assert.deepEqual(
      counts.map((count) => arabic({ count })),
      ['zero', 'one', 'two', 'few', 'many', 'other', 'few'],
    );
    const japanese = messageOf('{count, plural, other {#件}}', 'ja');
    assert.deepEqual([japanese({ count: 1 }), japanese({ count: 2 })], ['1件', '2件']);
    const german = messageOf('{count, plural, one {# Datei} other {# Dateien}}', 'de');
    assert.deepEqual([german({ count: 1 }), german({ count: 1234 })], ['1 Datei', '1.234 Dateien']);
  });

  it('prefers an exact number to a plural category', () => {
    const format = messageOf('{count, plural, =0 {none} =1 {“{name}”} one {one} other {#}}', 'en');
    assert.deepEqual(
      [0, 1, 2].map((count) => withoutIsolates(format({ count, name: 'a' }))),
      ['none', '“a”', '2'],
    );
  });

  it('writes numbers as the region does', () => {
    const numberIn = (locale: string) => messageOf('{count, number}', locale)({ count: 1_234_567 });
    assert.deepEqual(['en-GB', 'en-IN', 'ar-EG', 'ar-MA'].map(numberIn), [
      '1,234,567',
      '12,34,567',
      '١٬٢٣٤٬٥٦٧',
      '1.234.567',
    ]);
  });

  it('counts in a language that the browser does not know as in its default one', () => {
    assert.match(messageOf('{count, plural, one {# item} other {# items}}', 'xx')({ count: 3 }), /^3 items$/);
  });

  it('selects by a key, and otherwise "other"', () => {
    const format = messageOf('{kind, select, folder {Folder of {count, number}} other {File}}', 'en');
    assert.equal(format({ kind: 'folder', count: 2 }), 'Folder of 2');
    assert.equal(format({ kind: 'file', count: 2 }), 'File');
  });

  it('isolates the direction of each text, so that no name reorders the sentence', () => {
    const format = messageOf('“{name}” moved to “{folder}”', 'en');
    assert.equal(format({ name: 'אב', folder: 'b' }), '“\u2068אב\u2069” moved to “\u2068b\u2069”');
  });

  it('shows the characters in a name that would reorder or hide it', () => {
    const format = messageOf('Delete “{name}”?', 'en');
    assert.equal(format({ name: 'exe.\u202efdp' }), 'Delete “\u2068exe.⟨U+202E⟩fdp\u2069”?');
    assert.equal(format({ name: 'a\u2069b' }), 'Delete “\u2068a⟨U+2069⟩b\u2069”?');
    assert.equal(format({ name: ' ' }), 'Delete “\u2068⟨U+0020⟩\u2069”?');
  });

  it('takes a whole message as it is', () => {
    const inner = messageOf('“{name}” is gone', 'en')({ name: 'a' });
    assert.equal(messageOf('Trying again: {message}', 'en')({ message: inner }), `Trying again: ${inner}`);
  });

  it('formats names that look like syntax or markup as text', () => {
    for (const name of ['{count}', '#', '<b>bold</b>', "it''s", '__proto__']) {
      assert.equal(withoutIsolates(messageOf('Open {name}', 'en')({ name })), `Open ${name}`);
    }
  });
});
