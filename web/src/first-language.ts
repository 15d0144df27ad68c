import { chooseLanguage, loadCatalogue, storedLanguage } from './platform/text/supported-languages.ts';

// A separate small script, which the browser runs while it loads the other scripts, so that the texts load at the same time.
// The page requests them again, and reports a failure.
loadCatalogue(chooseLanguage(storedLanguage(), navigator.languages).tag, 'initial').catch(() => {});
