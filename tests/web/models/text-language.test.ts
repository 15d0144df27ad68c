import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPreferences } from '../../../web/src/platform/preferences.ts';
import { createLanguage } from '../../../web/src/platform/text/language.ts';
import { when } from './folder-scene.ts';

describe('The language of the page', () => {
  const languageOf = async (...requested: readonly string[]) =>
    (await createLanguage(createPreferences(undefined), requested)).value.tag;

  it('is the first supported one of the browser, and otherwise English', async () => {
    for (const [requested, expected] of [
      [['zh-CN'], 'zh-Hans'],
      [['zh'], 'zh-Hans'],
      [['zh-SG', 'en'], 'zh-Hans'],
      [['en-GB', 'zh-CN'], 'en'],
      [['fr', 'zh-Hans-CN', 'en'], 'zh-Hans'],
      // Traditional characters are another script.
      [['zh-TW'], 'en'],
      [['fr', 'de'], 'en'],
      [['not a tag'], 'en'],
      [[], 'en'],
    ] as const) {
      assert.deepEqual([requested, await languageOf(...requested)], [requested, expected]);
    }
  });

  it('is the chosen one, and that of the browser again after the choice is undone', async () => {
    const preferences = createPreferences(undefined);
    const language = await createLanguage(preferences, ['en-GB']);
    assert.equal(language.value.text.actions.newFolder, 'New folder');
    preferences.language.value = 'zh-Hans';
    await when(() => language.value.tag === 'zh-Hans');
    assert.equal(language.value.text.actions.newFolder, '新建文件夹');
    preferences.language.value = '';
    await when(() => language.value.tag === 'en');
    // Numbers and dates have the form of the region that the browser asks for.
    assert.equal(language.value.formats.time(new Date('2020-03-04T12:00:00')), '4 Mar 2020');
  });
});
