import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPreferences } from '../../../web/src/platform/preferences.ts';
import { completeLanguage, createLanguage, isFull } from '../../../web/src/platform/text/language.ts';
import { settle } from './change-scene.ts';
import { when } from './folder-scene.ts';
import { loadCatalogue } from './languages.ts';

const onLoadFailure = () => assert.fail('Texts could not be loaded.');

describe('The language of the page', () => {
  const languageOf = async (...requested: readonly string[]) =>
    (await createLanguage({ preferences: createPreferences(undefined), requested, loadCatalogue, onLoadFailure })).value
      .tag;

  it('is the first supported one of the browser, and otherwise English', async () => {
    for (const [requested, expected] of [
      [['zh-CN'], 'zh-Hans'],
      [['zh'], 'zh-Hans'],
      [['zh-SG', 'en'], 'zh-Hans'],
      [['en-GB', 'zh-CN'], 'en'],
      [['nl', 'zh-Hans-CN', 'en'], 'zh-Hans'],
      [['de-AT', 'en'], 'de'],
      [['es-419'], 'es'],
      [['fr-CA'], 'fr'],
      [['ja-JP'], 'ja'],
      [['ar-EG'], 'ar'],
      // Traditional characters are another script.
      [['zh-TW'], 'en'],
      [['nl', 'pt-BR'], 'en'],
      [['not a tag'], 'en'],
      [[], 'en'],
    ] as const) {
      assert.deepEqual([requested, await languageOf(...requested)], [requested, expected]);
    }
  });

  it('is the chosen one, and that of the browser again after the choice is undone', async () => {
    const preferences = createPreferences(undefined);
    const language = await createLanguage({ preferences, requested: ['en-GB'], loadCatalogue, onLoadFailure });
    assert.equal(language.value.text.actions.newFolder, 'New folder');
    preferences.language.value = 'zh-Hans';
    await when(() => language.value.tag === 'zh-Hans');
    assert.equal(language.value.text.actions.newFolder, '新建文件夹');
    preferences.language.value = '';
    await when(() => language.value.tag === 'en');
    // Numbers and dates have the form of the region that the browser asks for.
    assert.equal(language.value.formats.time(new Date('2020-03-04T12:00:00')), '4 Mar 2020');
  });

  it('names the root as the caller wishes, also after a change of the language', async () => {
    const preferences = createPreferences(undefined);
    const options = { preferences, requested: ['en'], loadCatalogue, onLoadFailure };
    const language = await createLanguage({ ...options, rootName: 'Our week in the Alps' });
    assert.equal(language.value.text.shell.root, 'Our week in the Alps');
    preferences.language.value = 'de';
    await when(() => language.value.tag === 'de');
    assert.equal(language.value.text.shell.root, 'Our week in the Alps');
    assert.equal((await createLanguage({ ...options, rootName: '' })).value.text.shell.root, 'Dateien');
  });
});

describe('A language whose texts can’t be loaded', () => {
  const unavailable = async () => {
    throw new Error('The file is missing.');
  };

  it('is replaced by English until a retry succeeds', async () => {
    const preferences = createPreferences(undefined);
    const retries: (() => void)[] = [];
    let isAvailable = false;
    const language = await createLanguage({
      preferences,
      requested: ['zh-CN'],
      loadCatalogue: (tag, part) => (tag === 'en' || isAvailable ? loadCatalogue(tag, part) : unavailable()),
      onLoadFailure: (retry) => void retries.push(retry),
    });
    await settle();
    assert.deepEqual([language.value.tag, retries.length], ['en', 1]);
    preferences.language.value = 'de';
    await settle();
    assert.deepEqual([language.value.tag, retries.length], ['en', 2]);
    isAvailable = true;
    retries.at(-1)?.();
    await when(() => language.value.tag === 'de');
  });

  it('fails the start of the page if English can’t be loaded either', async () => {
    const options = {
      preferences: createPreferences(undefined),
      requested: ['en'],
      loadCatalogue: unavailable,
      onLoadFailure,
    };
    await assert.rejects(createLanguage(options), /missing/);
  });
});

describe('The texts of lazily loaded code', () => {
  it('are there once the language is complete, and after each change of the language', async () => {
    const preferences = createPreferences(undefined);
    const language = await createLanguage({ preferences, requested: ['en'], loadCatalogue, onLoadFailure });
    assert.equal(isFull(language.value), false);
    const full = await completeLanguage(language);
    assert.equal(full.value.text.previews.next, 'Next file');
    preferences.language.value = 'zh-Hans';
    await when(() => full.value.tag === 'zh-Hans');
    assert.equal(full.value.text.previews.next, '下一个文件');
  });
});
