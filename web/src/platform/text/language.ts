import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Preferences } from '../preferences.ts';
import { createRequiredContext } from '../required-context.ts';
import { createFormats, type Formats } from './formats.ts';
import { bindMessages, type Catalogue, createFormatter } from './messages.ts';
import type { Reasons } from './reason.ts';
import {
  type CataloguePart,
  chooseLanguage,
  LANGUAGES,
  type LanguageChoice,
  type LanguageTag,
} from './supported-languages.ts';
import type { InitialText, LazyText, Text } from './text.ts';

export type { InitialText, Text } from './text.ts';

/** A language whose initial texts are loaded. */
export interface Language {
  readonly tag: LanguageTag;
  readonly direction: 'ltr' | 'rtl';
  readonly text: InitialText;
  readonly formats: Formats;
  /** Loads the remaining texts. */
  complete(): Promise<void>;
}

/** A language whose texts are all loaded. */
export interface FullLanguage extends Language, Reasons {
  readonly text: Text;
}

export interface LanguageOptions {
  readonly preferences: Pick<Preferences, 'language'>;
  /** The languages that the browser requests, in order. */
  readonly requested: readonly string[];
  readonly loadCatalogue: (tag: LanguageTag, part: CataloguePart) => Promise<Catalogue>;
  /** The name of the root folder, for example that of a shared folder. By default, a text. */
  readonly rootName?: string | undefined;
  /** Called if the texts of the chosen language can't be loaded. `retry` loads them again. */
  readonly onLoadFailure: (retry: () => void) => void;
}

/**
 * Returns the language of the page, which follows the preference. Falls back to English if the texts can't be loaded,
 * and rejects if English can't be loaded either. Later, the page keeps its language until all texts of another one are
 * loaded.
 */
export async function createLanguage(options: LanguageOptions): Promise<ReadonlySignal<Language>> {
  const { preferences, requested, onLoadFailure } = options;
  const choose = () => chooseLanguage(preferences.language.value, requested);
  const load = (choice: LanguageChoice) => loadLanguage(choice, options);
  const current = signal(await load(choose()).catch(() => load({ tag: 'en', locale: 'en' })));

  const change = async (choice: LanguageChoice): Promise<void> => {
    const isChosen = () => choose().tag === choice.tag;
    try {
      const language = await load(choice);
      await language.complete();
      if (isChosen()) current.value = language;
    } catch {
      if (isChosen()) onLoadFailure(() => void change(choice));
    }
  };
  effect(() => {
    const choice = choose();
    if (choice.tag !== current.peek().tag) void change(choice);
  });
  return current;
}

async function loadLanguage(
  { tag, locale }: LanguageChoice,
  { loadCatalogue, rootName }: LanguageOptions,
): Promise<Language> {
  const format = createFormatter(locale);
  // `npm run check:messages` proves that each catalogue has these messages, with these parameters.
  const text = bindMessages(await loadCatalogue(tag, 'initial'), format) as unknown as InitialText;
  if (rootName) Object.assign(text.shell, { root: rootName });
  const formats = createFormats(locale);
  const language: Language = {
    tag,
    direction: LANGUAGES[tag].direction,
    text,
    formats,
    async complete() {
      if (isFull(language)) return;
      const [catalogue, { createReasons }] = await Promise.all([loadCatalogue(tag, 'lazy'), import('./reason.ts')]);
      const fullText: Text = Object.assign(text, bindMessages(catalogue, format) as unknown as LazyText);
      Object.assign(language, createReasons({ text: fullText, formats }));
    },
  };
  return language;
}

/** Loads the remaining texts of the page's language. Languages chosen later are loaded completely. */
export async function completeLanguage(language: ReadonlySignal<Language>): Promise<ReadonlySignal<FullLanguage>> {
  await language.value.complete();
  return language as ReadonlySignal<FullLanguage>;
}

export function isFull(language: Language): language is FullLanguage {
  return 'reasonOf' in language;
}

/** The hook returns the language as a signal, for callbacks that read it later. */
export const [useLanguageSignal, LanguageProvider] = createRequiredContext<ReadonlySignal<Language>>('the language');

/** Returns the texts and formats of the page's language. The component renders again if the user chooses another one. */
export function useLanguage(): Language {
  return useLanguageSignal().value;
}

/** Returns all texts. Code that loads the component must first call `completeLanguage`. */
export function useFullLanguage(): FullLanguage {
  const language = useLanguage();
  if (!isFull(language)) throw new Error('A component was rendered before all texts were loaded.');
  return language;
}
