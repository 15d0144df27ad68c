import type { ReadonlySignal } from '@preact/signals';
import { createRequiredContext } from '../required-context.ts';
import type { Language } from './language.ts';

/** The hook returns the language as a signal, for callbacks that read it later. */
export const [useLanguageSignal, LanguageProvider] = createRequiredContext<ReadonlySignal<Language>>('the language');

/** Returns the texts and formats of the page's language. The component renders again if the user chooses another one. */
export function useLanguage(): Language {
  return useLanguageSignal().value;
}
