import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkCatalogue, declareText } from '../../../scripts/messages/catalogues.ts';
import { type CatalogueSource, compileCatalogue } from '../../../web/message-compiler.ts';

const ENGLISH: CatalogueSource = {
  folder: {
    empty: 'Empty',
    items: '{count, plural, one {# item} other {# items}}',
    moved: '{count, plural, =1 {“{name}” moved} other {# items moved}}',
    sorted: '{direction, select, descending {Descending} other {Ascending}}',
  },
};

const GERMAN = {
  empty: 'Leer',
  items: '{count, plural, one {# Objekt} other {# Objekte}}',
  moved: '{count, plural, =1 {„{name}“ verschoben} other {# Objekte verschoben}}',
  sorted: '{direction, select, descending {Absteigend} other {Aufsteigend}}',
};

describe('A catalogue', () => {
  const problemsOf = (changes: Readonly<Record<string, string | undefined>>, tag = 'de') => {
    const entries = Object.entries({ ...GERMAN, ...changes }).filter(([, message]) => message !== undefined);
    return checkCatalogue({
      tag,
      catalogue: { folder: Object.fromEntries(entries) as CatalogueSource },
      english: ENGLISH,
    });
  };

  it('passes if it has the messages, parameters and plural categories', () => {
    assert.deepEqual(problemsOf({}), []);
    assert.deepEqual(problemsOf({ moved: '{count, plural, one {Eins verschoben} other {# verschoben}}' }), []);
  });

  it('fails if it lacks a message, or has one that English lacks', () => {
    assert.deepEqual(problemsOf({ empty: undefined }), ['folder.empty is missing.']);
    assert.deepEqual(problemsOf({ full: 'Voll' }), ['folder.full does not exist in English.']);
  });

  it('fails if a message uses a parameter that English lacks, or as another type', () => {
    assert.deepEqual(problemsOf({ empty: 'Leer: {name}' }), [
      'folder.empty uses the parameter "name", which English lacks.',
    ]);
    assert.deepEqual(problemsOf({ moved: '{name, plural, one {#} other {#}}' }), [
      'folder.moved uses the parameter "name" as number, not string.',
    ]);
    assert.deepEqual(problemsOf({ sorted: '{direction, select, down {Ab} other {Auf}}' }), [
      `folder.sorted uses the parameter "direction" as 'down' | 'other', not 'descending' | 'other'.`,
    ]);
  });

  it('fails if a message lacks a plural category of the language, or has one that the language lacks', () => {
    assert.deepEqual(problemsOf({ items: '{count, plural, other {# Objekte}}' }), [
      'folder.items lacks the plural category "one" of "count".',
    ]);
    assert.deepEqual(problemsOf({ items: '{count, plural, one {#} few {#} other {#}}' }), [
      'folder.items has the plural category "few", which the language lacks.',
    ]);
    assert.deepEqual(
      problemsOf({ items: '{count, plural, =0 {لا عناصر} one {#} two {#} few {#} other {#}}' }, 'ar').filter(
        (problem) => problem.startsWith('folder.items'),
      ),
      ['folder.items lacks the plural category "many" of "count".'],
    );
  });

  it('fails if a message has invalid syntax, is empty, or has straight quotes', () => {
    assert.match(problemsOf({ empty: 'Leer {' }).join(), /^folder\.empty has invalid syntax/);
    assert.match(problemsOf({ items: '{count, plural, offset:1 one {#} other {#}}' }).join(), /invalid syntax/);
    assert.match(problemsOf({ items: '{count, date}' }).join(), /invalid syntax/);
    assert.deepEqual(problemsOf({ empty: ' ' }), [
      'folder.empty is empty.',
      'folder.empty begins or ends with a space.',
    ]);
    assert.match(problemsOf({ empty: '"Leer"' }).join(), /straight quote/);
  });

  it('is declared with the type of each parameter', () => {
    const declaration = declareText({ ...ENGLISH, changes: { done: 'Done: {message}' } });
    assert.match(declaration, /readonly empty: string;/);
    assert.match(declaration, /readonly items: \(parameters: \{ count: number \}\) => string;/);
    assert.match(declaration, /readonly moved: \(parameters: \{ count: number; name: string \}\) => string;/);
    assert.match(declaration, /direction: 'descending' \| 'other'/);
    assert.match(declaration, /interface LazyText \{\n {2}readonly changes: \{\n {4}readonly done: \(/);
  });
});

describe('An invalid message', () => {
  it('fails the build with its key', () => {
    assert.throws(() => compileCatalogue({ folder: { items: '{count, plural, one {#}}' } }), /folder\.items/);
  });
});
