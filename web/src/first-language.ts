import { chooseLanguage, loadCatalogue } from './platform/text/supported-languages.ts';

// A small script of its own, which the browser runs while it loads the other scripts. It requests the texts at once, so
// that they are there when the page starts. The page requests them again, and reports a failure.
loadCatalogue(chooseLanguage(storedLanguage(), navigator.languages).tag, 'initial').catch(() => {});

/** Returns the language that the user chose, as `preferences.ts` stores it. */
function storedLanguage(): string {
  try {
    const { language } = JSON.parse(localStorage.getItem('holdall') ?? '{}') as { language?: unknown };
    return typeof language === 'string' ? language : '';
  } catch {
    return '';
  }
}
