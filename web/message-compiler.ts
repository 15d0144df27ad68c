import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser';
import type { Plugin } from 'vite';
import type { Catalogue, Message, Part } from './src/platform/text/messages.ts';

/** A catalogue as translators edit it: messages in ICU MessageFormat, in nested groups. */
export interface CatalogueSource {
  readonly [key: string]: string | CatalogueSource;
}

/** The groups of messages that only lazily loaded code uses. */
const LAZY_GROUPS: readonly string[] = [
  'activity',
  'changes',
  'conflicts',
  'details',
  'downloads',
  'drops',
  'editor',
  'errors',
  'folderPicker',
  'links',
  'locks',
  'names',
  'palette',
  'previews',
  'recent',
  'received',
  'renameSeveral',
  'retries',
  'shortcuts',
  'sidebar',
  'signIn',
  'signOut',
  'states',
  'trash',
  'uploads',
  'versions',
  'visit',
];

/** The group of messages of the page that the service worker shows without a connection. */
const OFFLINE_GROUP = 'offline';

/** The group of messages of the dialog that describes how clients connect: too many for everyone to load. */
const CONNECT_GROUP = 'connect';

/** The module of a catalogue that contains a message. */
export type CatalogueModule = 'initial' | 'lazy' | 'connect' | 'offline';

/** Returns the module that contains a group of messages. */
export function moduleOf(group: string): CatalogueModule {
  if (group === OFFLINE_GROUP) return 'offline';
  if (group === CONNECT_GROUP) return 'connect';
  return LAZY_GROUPS.includes(group) ? 'lazy' : 'initial';
}

/**
 * Compiles the catalogues of the web UI into data that `src/platform/text/messages.ts` formats without a parser. A catalogue has
 * four modules: `en.json?initial`, which the page loads before it renders, `en.json?lazy`, `en.json?connect`, and `en.json?offline`.
 */
export function compileCatalogues(): Plugin {
  return {
    name: 'compile-catalogues',
    enforce: 'pre',
    transform: {
      filter: { id: /\/text\/catalogues\/[\w-]+\.json\?(initial|lazy|connect|offline)$/ },
      handler(source, id) {
        const part = id.slice(id.lastIndexOf('?') + 1) as CatalogueModule;
        const catalogue = compilePart(JSON.parse(source) as CatalogueSource, part);
        return { code: `export default ${JSON.stringify(catalogue)}`, moduleType: 'js', map: null };
      },
    },
  };
}

/** Throws an `Error` that names the key of an invalid message. */
export function compilePart(source: CatalogueSource, part: CatalogueModule): Catalogue {
  const groups = Object.entries(source).filter(([group]) => moduleOf(group) === part);
  return compileCatalogue(Object.fromEntries(groups));
}

/** Throws an `Error` that names the key of an invalid message. */
export function compileCatalogue(source: CatalogueSource, parent = ''): Catalogue {
  const entries = Object.entries(source).map(([key, entry]) => {
    const path = parent + key;
    return [
      key,
      typeof entry === 'string' ? compileMessage(entry, path) : compileCatalogue(entry, `${path}.`),
    ] as const;
  });
  return Object.fromEntries(entries);
}

function compileMessage(source: string, path: string): Message {
  try {
    return compileElements(parseMessage(source));
  } catch (error) {
    throw new Error(`The message ${path} is invalid: ${error instanceof Error ? error.message : String(error)}.`, {
      cause: error,
    });
  }
}

/** Parses a message. Text that looks like an HTML tag is text. */
export function parseMessage(source: string): MessageFormatElement[] {
  return parse(source, { ignoreTag: true });
}

/** `counted` is the argument that `#` stands for. */
function compileElements(elements: readonly MessageFormatElement[], counted = ''): Message {
  const parts = elements.map((element): Part => {
    switch (element.type) {
      case TYPE.literal:
        return element.value;
      case TYPE.argument:
        return [element.value];
      case TYPE.pound:
        return [counted];
      case TYPE.number:
        if (element.style) break;
        return [element.value];
      case TYPE.plural:
        if (element.offset !== 0 || element.pluralType === 'ordinal') break;
        return [element.value, compileOptions(element.options, element.value)];
      case TYPE.select:
        return [element.value, compileOptions(element.options, counted)];
      case TYPE.date:
      case TYPE.time:
      case TYPE.tag:
        break;
    }
    throw new Error('only plain arguments, "number" without a style, "select", and "plural" without an offset work');
  });
  const [only = ''] = parts;
  return parts.length <= 1 && typeof only === 'string' ? only : parts;
}

function compileOptions(options: Readonly<Record<string, { value: MessageFormatElement[] }>>, counted: string) {
  return Object.fromEntries(
    Object.entries(options).map(([key, { value }]) => [key, compileElements(value, counted)] as const),
  );
}
