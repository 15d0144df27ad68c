import type { ReadonlySignal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { type FullLanguage, isFull, type Language } from './language.ts';

const LanguageContext = createContext<ReadonlySignal<Language> | null>(null);
export const LanguageProvider = LanguageContext.Provider;

/** Returns the texts and formats of the page's language. The component renders again if the user chooses another one. */
export function useLanguage(): Language {
  const language = useContext(LanguageContext);
  if (!language) throw new Error('A component was rendered outside of the LanguageProvider.');
  return language.value;
}

/** Returns all texts. Whatever loads the component must first call `completeLanguage`. */
export function useFullLanguage(): FullLanguage {
  const language = useLanguage();
  if (!isFull(language)) throw new Error('A component was rendered before all texts were loaded.');
  return language;
}
