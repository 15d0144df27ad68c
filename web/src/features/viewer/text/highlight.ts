import { splitName } from '../../../platform/paths.ts';

/** Characters up to which a text is coloured; a longer one takes longer than a person would not notice. */
const LIMIT = 200_000;

/** The grammar by which a text is coloured: what the name tells, else what the first line says that runs it. */
export function grammarOf(name: string, text: string): string | undefined {
  if (text.length > LIMIT) return undefined;
  const { stem, extension } = splitName(name);
  const suffix = extension.split('.').at(-1)?.toLowerCase() ?? '';
  const program = /^#!.*?\b(bash|sh|zsh|python|node|perl|ruby|php)/.exec(text)?.[1];
  const known = BY_NAME.get(stem.toLowerCase()) ?? BY_SUFFIX.get(suffix) ?? suffix;
  return known === '' ? program && (BY_SUFFIX.get(program) ?? program) : known;
}

const BY_NAME = new Map([
  ['makefile', 'makefile'],
  ['.bashrc', 'bash'],
  ['.profile', 'bash'],
  ['.gitconfig', 'ini'],
  ['.editorconfig', 'ini'],
  ['.env', 'ini'],
]);

/** Where the library does not know the extension itself. */
const BY_SUFFIX = new Map([
  ['cts', 'typescript'],
  ['mts', 'typescript'],
  ['node', 'javascript'],
  ['jsonl', 'json'],
  ['ndjson', 'json'],
  ['geojson', 'json'],
  ['webmanifest', 'json'],
  ['vue', 'xml'],
  ['svelte', 'xml'],
  ['conf', 'ini'],
  ['cfg', 'ini'],
  ['env', 'ini'],
  ['properties', 'ini'],
  ['fish', 'bash'],
  ['mk', 'makefile'],
  ['txt', ''],
  ['log', ''],
]);
