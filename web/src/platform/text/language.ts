import { effect, type ReadonlySignal, signal } from '@preact/signals';
import type { Preferences } from '../preferences.ts';
import { en, type Text } from './en.ts';
import { createFormats, type Formats } from './formats.ts';

export type { Text } from './en.ts';

export interface Language {
  /** As in the `lang` of HTML. */
  readonly tag: string;
  readonly direction: 'ltr' | 'rtl';
  readonly text: Text;
  readonly formats: Formats;
}

/** The languages of the page, by their tags, as they call themselves; the first is spoken where none is asked for. */
export const LANGUAGES: ReadonlyMap<string, string> = new Map([
  ['en', 'English'],
  ['zh-Hans', '简体中文'],
]);

/**
 * The language of the page: the chosen one, else the first of those that the browser asks for. Numbers and dates
 * follow the region that the browser asks for, such as `en-GB`. Settles when it can be spoken; another one that is
 * chosen later is spoken as soon as its catalogue is there.
 */
export async function createLanguage(
  { language: chosen }: Preferences,
  asked: readonly string[],
): Promise<ReadonlySignal<Language>> {
  const choose = () => choiceOf(chosen.value === '' ? asked : [chosen.value], asked);
  const spoken = signal(await learn(choose()).catch(() => speak(en, { tag: 'en', region: 'en' })));
  effect(() => {
    const choice = choose();
    if (choice.tag === spoken.peek().tag) return;
    const begin = (language: Language) => {
      if (choose().tag === choice.tag) spoken.value = language;
    };
    // Where the catalogue can't be had, the page goes on in the language that it speaks.
    learn(choice).then(begin, () => {});
  });
  return spoken;
}

interface Choice {
  readonly tag: string;
  readonly region: string;
}

function choiceOf(wanted: readonly string[], asked: readonly string[]): Choice {
  const tag = wanted.map(supported).find((found) => found !== undefined) ?? 'en';
  return { tag, region: asked.find((candidate) => supported(candidate) === tag) ?? tag };
}

/** Loads the catalogue of a language; English is a part of the page. */
async function learn(choice: Choice): Promise<Language> {
  if (choice.tag !== 'zh-Hans') return speak(en, choice);
  const { zhHans } = await import('./zh-hans.ts');
  return speak(zhHans, choice);
}

function speak(text: Text, { tag, region }: Choice): Language {
  return { tag, direction: 'ltr', text, formats: createFormats(region) };
}

/** The language of the page that serves a person who asks for `tag`. */
function supported(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return [`${language}-${script}`, language].find((candidate) => candidate && LANGUAGES.has(candidate));
  } catch {
    return undefined;
  }
}
