import type { ReadonlySignal } from '@preact/signals';
import { createRequiredContext } from '../required-context.ts';
import { type FullLanguage, isFull, type Language } from './language.ts';

/** The hook returns the language as a signal, for callbacks that read it later. */
export const [useLanguageSignal, LanguageProvider] = createRequiredContext<ReadonlySignal<Language>>('the language');

/** Returns the texts and formats of the page's language. The component renders again if the user chooses another one. */
export function useLanguage(): Language {
  return useLanguageSignal().value;
}

/** Returns all texts. Whatever loads the component must first call `completeLanguage`. */
export function useFullLanguage(): FullLanguage {
  const language = useLanguage();
  if (!isFull(language)) throw new Error('A component was rendered before all texts were loaded.');
  return language;
}
