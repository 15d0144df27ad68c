import type { Right } from '../access/rights.ts';
import { type FilePath, type FolderPath, isFolder } from '../domain/path.ts';

/** What one does to a file or a folder, in a word, and the rights that it needs there. */
export interface Need {
  /** Undefined for what is not done to files. */
  readonly file?: readonly Right[];
  readonly folder?: readonly Right[];
  /** Whether it needs them in all that is below a folder, too. */
  readonly throughout?: true;
  /** What a folder needs besides where its new name will be, in the folder that it is in. */
  readonly beside?: readonly Right[];
  /** Whether nobody can do it to the root, whatever they are given. */
  readonly notToRoot?: true;
}

/** What is done to a folder as a whole. */
const WHOLE = { throughout: true, notToRoot: true } as const;

/** The rights themselves, and what people do, as docs/access.md has it: of a copy or move, what it needs at either end. */
const needs = {
  read: { file: ['read'], folder: ['read'] },
  write: { file: ['write'], folder: ['write'] },
  manage: { file: ['manage'], folder: ['manage'] },
  list: { folder: ['read'] },
  fetch: { file: ['read'] },
  upload: { file: ['write'], folder: ['write'] },
  replace: { file: ['write', 'manage'], folder: ['write', 'manage'], ...WHOLE },
  create: { folder: ['write'], notToRoot: true },
  delete: { file: ['manage'], folder: ['manage'], ...WHOLE },
  rename: { file: ['manage'], folder: ['read', 'manage'], beside: ['write'], ...WHOLE },
  'copy-from': { file: ['read'], folder: ['read'], ...WHOLE },
  'copy-to': { file: ['write'], folder: ['write'], ...WHOLE },
  'move-from': { file: ['read', 'manage'], folder: ['read', 'manage'], ...WHOLE },
  'move-to': { file: ['write'], folder: ['write'], ...WHOLE },
} satisfies Record<string, Need>;

export type Verb = keyof typeof needs;

export const NEEDS: Readonly<Record<Verb, Need>> = needs;

/** What somebody may do, in words before a path: `copy to the folder`. */
export function sayVerb(verb: Verb, path: FilePath | FolderPath): string {
  if (!isFolder(path)) return `${WORDS[verb] ?? verb} the file`;
  return `${WORDS_OF_FOLDERS[verb] ?? WORDS[verb] ?? verb} the folder`;
}

const WORDS: Partial<Readonly<Record<Verb, string>>> = {
  'copy-from': 'copy',
  'copy-to': 'copy something to',
  'move-from': 'move',
  'move-to': 'move something to',
};

const WORDS_OF_FOLDERS: typeof WORDS = { write: 'write to', upload: 'upload to' };
