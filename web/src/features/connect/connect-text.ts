import { createRequiredContext } from '../../platform/required-context.ts';
import type { Language } from '../../platform/text/language.ts';
import { bindMessages, type Catalogue, createFormatter } from '../../platform/text/messages.ts';
import type { LanguageTag } from '../../platform/text/supported-languages.ts';
import type { ConnectText } from '../../platform/text/text.ts';

const CATALOGUES: Readonly<Record<LanguageTag, () => Promise<{ default: Catalogue }>>> = {
  en: () => import('../../platform/text/catalogues/en.json?connect'),
  de: () => import('../../platform/text/catalogues/de.json?connect'),
  es: () => import('../../platform/text/catalogues/es.json?connect'),
  fr: () => import('../../platform/text/catalogues/fr.json?connect'),
  ja: () => import('../../platform/text/catalogues/ja.json?connect'),
  'zh-Hans': () => import('../../platform/text/catalogues/zh-Hans.json?connect'),
  ar: () => import('../../platform/text/catalogues/ar.json?connect'),
};

/** Loads the texts of the dialog, which the other texts do not contain. */
export async function loadConnectText({ tag, formats }: Language): Promise<ConnectText['connect']> {
  const { default: catalogue } = await CATALOGUES[tag]();
  // `npm run check:messages` proves that each catalogue has these messages, with these parameters.
  return (bindMessages(catalogue, createFormatter(formats.locale)) as unknown as ConnectText).connect;
}

export const [useConnectText, ConnectTextProvider] = createRequiredContext<ConnectText['connect']>('the texts');
