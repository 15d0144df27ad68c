import type { Extension } from '@codemirror/state';
import { grammarOf } from '../../../platform/preview-kinds.ts';

/** Returns the syntax support for a file; undefined if its language is not known. Rejects if it can't be loaded. */
export async function loadLanguage(name: string, text: string): Promise<Extension | undefined> {
  const grammar = grammarOf(name, text);
  if (grammar === undefined || grammar === '') return undefined;
  const load = LOADERS[grammar];
  return load?.(grammar);
}

type Loader = (grammar: string) => Promise<Extension>;

const web: Loader = async (grammar) => (await import('./web-languages.ts')).webLanguage(grammar);
const other: Loader = async (grammar) => (await import('./other-languages.ts')).otherLanguage(grammar);
const python: Loader = async () => (await import('./python-language.ts')).python();
const yaml: Loader = async () => (await import('./yaml-language.ts')).yaml();

/** By the names of grammars, which are extensions of files or names of languages. */
const LOADERS: Readonly<Record<string, Loader>> = {
  ...loaders(web, 'js mjs cjs jsx javascript ts tsx typescript json css html htm xhtml xml svg xsl xsd md markdown'),
  ...loaders(python, 'py pyw python'),
  ...loaders(yaml, 'yaml yml'),
  ...loaders(
    other,
    'bash sh zsh sql toml ini dockerfile diff patch go rs rust c h cc cpp hpp cs java kt scala rb ruby swift lua pl perl ps1 r scss less',
  ),
};

function loaders(loader: Loader, grammars: string): Record<string, Loader> {
  return Object.fromEntries(grammars.split(' ').map((grammar) => [grammar, loader]));
}
