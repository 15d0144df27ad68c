/** The languages of the web UI by tag, with their own names. The first one is the default. */
export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr' },
  de: { name: 'Deutsch', direction: 'ltr' },
  es: { name: 'Español', direction: 'ltr' },
  fr: { name: 'Français', direction: 'ltr' },
  ja: { name: '日本語', direction: 'ltr' },
  'zh-Hans': { name: '简体中文', direction: 'ltr' },
  ar: { name: 'العربية', direction: 'rtl' },
} as const;

export type LanguageTag = keyof typeof LANGUAGES;

export const LANGUAGE_TAGS = Object.keys(LANGUAGES) as readonly LanguageTag[];

export interface LanguageChoice {
  readonly tag: LanguageTag;
  /** The locale of numbers, dates and plurals: the language with the region that the browser requests, such as `en-GB`. */
  readonly locale: string;
}

/**
 * Returns the language that the user chose, otherwise the first supported one that the browser requests, otherwise
 * English. `chosen` is empty if the user chose none.
 */
export function chooseLanguage(chosen: string, requested: readonly string[]): LanguageChoice {
  const wanted = chosen === '' ? requested : [chosen];
  const tag = wanted.map(supportedTag).find((found) => found !== undefined) ?? 'en';
  return { tag, locale: requested.find((candidate) => supportedTag(candidate) === tag) ?? tag };
}

/** Returns the supported language that a user of `requested` reads; undefined if there is none. */
function supportedTag(requested: string): LanguageTag | undefined {
  try {
    const { language, script } = new Intl.Locale(requested).maximize();
    return LANGUAGE_TAGS.find((tag) => tag === `${language}-${script}` || tag === language);
  } catch {
    return undefined;
  }
}
