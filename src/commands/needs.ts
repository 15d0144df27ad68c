import type { Right } from '../access/rights.ts';
import type { FilePath, FolderPath } from '../domain/path.ts';

/** What one does to a file or a folder, in a word, and the rights that it needs there. */
interface Need {
  /** Undefined for what is not done to files. */
  readonly file?: readonly Right[];
  readonly folder?: readonly Right[];
  /** Whether it needs them in all that is below a folder, too. */
  readonly throughout?: true;
}

/**
 * The rights themselves, and what people do, as docs/access.md has it: of a copy or move, what it needs at either end.
 * A folder that is renamed is moved, to its new name.
 */
const needs = {
  read: { file: ['read'], folder: ['read'] },
  write: { file: ['write'], folder: ['write'] },
  manage: { file: ['manage'], folder: ['manage'] },
  list: { folder: ['read'] },
  fetch: { file: ['read'] },
  upload: { file: ['write'], folder: ['write'] },
  replace: { file: ['write', 'manage'], folder: ['write', 'manage'], throughout: true },
  create: { folder: ['write'] },
  delete: { file: ['manage'], folder: ['manage'], throughout: true },
  rename: { file: ['manage'], folder: ['read', 'manage'], throughout: true },
  'copy-from': { file: ['read'], folder: ['read'], throughout: true },
  'copy-to': { file: ['write'], folder: ['write'], throughout: true },
  'move-from': { file: ['read', 'manage'], folder: ['read', 'manage'], throughout: true },
  'move-to': { file: ['write'], folder: ['write'], throughout: true },
} satisfies Record<string, Need>;

export type Verb = keyof typeof needs;

export const NEEDS: Readonly<Record<Verb, Need>> = needs;

export function isFolder(path: FilePath | FolderPath): path is FolderPath {
  return path === '' || path.endsWith('/');
}
