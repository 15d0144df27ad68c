import type { LanguageTag } from './choice.ts';
import type { Catalogue } from './messages.ts';

/** The two parts of a catalogue: what the page needs before it renders, and what only lazily loaded code needs. */
export type CataloguePart = 'initial' | 'lazy';

export async function loadCatalogue(tag: LanguageTag, part: CataloguePart): Promise<Catalogue> {
  const { default: catalogue } = await CATALOGUES[tag][part]();
  return catalogue;
}

type LoadPart = () => Promise<{ default: Catalogue }>;

const CATALOGUES: Readonly<Record<LanguageTag, Readonly<Record<CataloguePart, LoadPart>>>> = {
  en: {
    initial: () => import('./catalogues/en.json?initial'),
    lazy: () => import('./catalogues/en.json?lazy'),
  },
  de: {
    initial: () => import('./catalogues/de.json?initial'),
    lazy: () => import('./catalogues/de.json?lazy'),
  },
  es: {
    initial: () => import('./catalogues/es.json?initial'),
    lazy: () => import('./catalogues/es.json?lazy'),
  },
  fr: {
    initial: () => import('./catalogues/fr.json?initial'),
    lazy: () => import('./catalogues/fr.json?lazy'),
  },
  ja: {
    initial: () => import('./catalogues/ja.json?initial'),
    lazy: () => import('./catalogues/ja.json?lazy'),
  },
  'zh-Hans': {
    initial: () => import('./catalogues/zh-Hans.json?initial'),
    lazy: () => import('./catalogues/zh-Hans.json?lazy'),
  },
  ar: {
    initial: () => import('./catalogues/ar.json?initial'),
    lazy: () => import('./catalogues/ar.json?lazy'),
  },
};
