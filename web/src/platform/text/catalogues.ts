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
  'zh-Hans': {
    initial: () => import('./catalogues/zh-Hans.json?initial'),
    lazy: () => import('./catalogues/zh-Hans.json?lazy'),
  },
};
