import { splitName } from '../../../platform/paths.ts';

/** The maximum length in characters of highlighted text. Longer text takes noticeably long. */
const LIMIT = 200_000;

/** Returns the grammar for highlighting: by the file name, otherwise by the interpreter in the first line. */
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

/** Extensions that the highlighter does not know. */
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
