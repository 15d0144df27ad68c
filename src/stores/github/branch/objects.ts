import { hash } from 'node:crypto';
import { comparePaths } from '../../../domain/path.ts';
import { hashOfBlob } from '../blobs/blob.ts';

/** The modes of entries (gitformat-index, git-fast-import): six octal digits, as the host writes them. */
export const FILE = '100644';
export const EXECUTABLE = '100755';
export const FOLDER = '040000';
export const LINK = '120000';
export const SUBMODULE = '160000';

/** One name in a tree, and what it leads to. */
export interface TreeEntry {
  readonly mode: string;
  readonly sha: string;
  /** Bytes of a file; 0 of anything else. */
  readonly size: number;
}

/** A folder as git keeps it: what is under its names, by the sha of exactly that. */
export interface Tree {
  readonly sha: string;
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /**
   * What the host told in the place of names that are not UTF-8. They are not among the entries; with any, `sha` can't be
   * computed.
   */
  readonly untold: ReadonlySet<string>;
}

/** The tree without entries, which every repository has without having been given it. */
export const EMPTY_TREE: Tree = {
  sha: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  entries: new Map(),
  untold: new Set(),
};

export const isFolder = ({ mode }: TreeEntry): boolean => mode === FOLDER;

/** Whether an entry is a file, executable or not; 100664 stands in repositories of git's first years. */
export const isFile = ({ mode }: TreeEntry): boolean => mode.startsWith('100');

/** The sha of a blob of these bytes. */
export function shaOfBlob(bytes: Buffer): string {
  return hashOfBlob(bytes.length).update(bytes).digest('hex');
}

/** The sha of the tree that has these entries. */
export function shaOfTree(entries: ReadonlyMap<string, TreeEntry>): string {
  const lines = [...entries]
    // Git's order: by bytes, a folder compared with a "/" behind its name.
    .map(([name, entry]) => ({ name, entry, key: isFolder(entry) ? `${name}/` : name }))
    .toSorted((left, right) => comparePaths(left.key, right.key))
    .flatMap(({ name, entry }) => [
      Buffer.from(`${entry.mode.replace(/^0/, '')} ${name}\0`),
      Buffer.from(entry.sha, 'hex'),
    ]);
  const content = Buffer.concat(lines);
  return hash('sha1', Buffer.concat([Buffer.from(`tree ${content.length}\0`), content]));
}
