import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { ReadonlySignal } from '@preact/signals';
import { type CatalogueSource, compilePart } from '../../../web/message-compiler.ts';
import { createPreferences } from '../../../web/src/platform/preferences.ts';
import {
  completeLanguage,
  createLanguage,
  type FullLanguage,
  type Text,
} from '../../../web/src/platform/text/language.ts';
import type { Catalogue } from '../../../web/src/platform/text/messages.ts';
import type { CataloguePart, LanguageTag } from '../../../web/src/platform/text/supported-languages.ts';

/** Compiles a part of the texts of a language, as the build does. */
export async function loadCatalogue(tag: LanguageTag, part: CataloguePart): Promise<Catalogue> {
  const file = new URL(`../../../web/src/platform/text/catalogues/${tag}.json`, import.meta.url);
  return compilePart(JSON.parse(await readFile(file, 'utf8')) as CatalogueSource, part);
}

export async function textOf(tag: LanguageTag): Promise<Text> {
  return (await createFullLanguage(tag)).value.text;
}

/** The language of a page in English, with all texts. */
export function createEnglish(): Promise<ReadonlySignal<FullLanguage>> {
  return createFullLanguage('en');
}

/** The language of a page with all texts. */
export async function createFullLanguage(tag: LanguageTag): Promise<ReadonlySignal<FullLanguage>> {
  const preferences = createPreferences(undefined);
  const onLoadFailure = () => assert.fail(`The texts of ${tag} can't be loaded.`);
  return completeLanguage(await createLanguage({ preferences, requested: [tag], loadCatalogue, onLoadFailure }));
}

/** Removes the characters that isolate the direction of names. */
export function withoutIsolates(text: string): string {
  return text.replace(/[\u2066-\u2069]/g, '');
}
