import type { Catalogue } from './messages.ts';

/** The two parts of a catalogue: what the page needs before it renders, and what only lazily loaded code needs. */
export type CataloguePart = 'initial' | 'lazy';

interface SupportedLanguage extends Readonly<Record<CataloguePart, () => Promise<{ default: Catalogue }>>> {
  /** The name of the language in the language itself. */
  readonly name: string;
  readonly direction: 'ltr' | 'rtl';
}

/** The languages of the web UI by tag. The first one is the default. */
export const LANGUAGES = {
  en: {
    name: 'English',
    direction: 'ltr',
    initial: () => import('./catalogues/en.json?initial'),
    lazy: () => import('./catalogues/en.json?lazy'),
  },
  de: {
    name: 'Deutsch',
    direction: 'ltr',
    initial: () => import('./catalogues/de.json?initial'),
    lazy: () => import('./catalogues/de.json?lazy'),
  },
  es: {
    name: 'Español',
    direction: 'ltr',
    initial: () => import('./catalogues/es.json?initial'),
    lazy: () => import('./catalogues/es.json?lazy'),
  },
  fr: {
    name: 'Français',
    direction: 'ltr',
    initial: () => import('./catalogues/fr.json?initial'),
    lazy: () => import('./catalogues/fr.json?lazy'),
  },
  ja: {
    name: '日本語',
    direction: 'ltr',
    initial: () => import('./catalogues/ja.json?initial'),
    lazy: () => import('./catalogues/ja.json?lazy'),
  },
  'zh-Hans': {
    name: '简体中文',
    direction: 'ltr',
    initial: () => import('./catalogues/zh-Hans.json?initial'),
    lazy: () => import('./catalogues/zh-Hans.json?lazy'),
  },
  ar: {
    name: 'العربية',
    direction: 'rtl',
    initial: () => import('./catalogues/ar.json?initial'),
    lazy: () => import('./catalogues/ar.json?lazy'),
  },
} as const satisfies Readonly<Record<string, SupportedLanguage>>;

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

export async function loadCatalogue(tag: LanguageTag, part: CataloguePart): Promise<Catalogue> {
  const { default: catalogue } = await LANGUAGES[tag][part]();
  return catalogue;
}

/** Returns the language that the user chose, as `preferences.ts` stores it; empty if there is none. */
export function storedLanguage(): string {
  try {
    const { language } = JSON.parse(localStorage.getItem('holdall') ?? '{}') as { language?: unknown };
    return typeof language === 'string' ? language : '';
  } catch {
    return '';
  }
}
