import { chooseLanguage, loadCatalogue } from './platform/text/supported-languages.ts';

// A separate small script, which the browser runs while it loads the other scripts, so that the texts load at the same time.
// The page requests them again, and reports a failure.
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
