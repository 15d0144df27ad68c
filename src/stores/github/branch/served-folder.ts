import { quoted, StoreError } from '../../../model/error.ts';
import { type FilePath, type FolderPath, foundPath, MAX_KEY_BYTES, ROOT, withoutSlash } from '../../../model/path.ts';
import type { Cancellable } from '../../../model/store.ts';
import { LONG_RETRY_AFTER_SECONDS } from '../../network.ts';
import type { GitHubOptions } from '../settings.ts';
import { EMPTY_TREE, isFolder, type Tree } from './objects.ts';
import type { Trees } from './trees.ts';

/**
 * The folder of the branch that Holdall serves. It is the root of all paths of the store. Only requests to GitHub and
 * commit messages contain paths from the root of the branch.
 */
export class ServedFolder {
  /** The path from the root of the branch. */
  readonly path: FolderPath;
  readonly #trees: Trees;
  readonly #branch: string;
  readonly #names: readonly string[];

  constructor(trees: Trees, { path = ROOT, branch }: Pick<GitHubOptions, 'path' | 'branch'>) {
    this.path = path;
    this.#trees = trees;
    this.#branch = branch;
    this.#names = path.split('/').filter(Boolean);
  }

  /** Returns the path of a file from the root of the branch. */
  fullPath(file: FilePath): FilePath {
    return (this.path + file) as FilePath;
  }

  /**
   * Returns the path of a file or folder in the served folder. Returns undefined for any other path and for invalid ones,
   * as commit messages can contain.
   */
  relativePath(fullPath: string): FilePath | FolderPath | undefined {
    const path = fullPath.slice(this.path.length);
    if (!fullPath.startsWith(this.path) || path === '') return undefined;
    const file = foundPath(path.endsWith('/') ? path.slice(0, -1) : path, MAX_KEY_BYTES);
    return file && (path as FilePath | FolderPath);
  }

  /**
   * Returns the trees from the root of the branch to the served folder. A folder that does not exist yet is empty.
   * Throws `store-misconfigured` if the path leads through something other than a folder.
   */
  async chain(root: string, options: Cancellable): Promise<Tree[]> {
    const { above, sha } = await this.#resolve(root, options);
    return [...above, await this.#trees.read(sha, options)];
  }

  /** Returns the SHA of the served folder. Throws like `chain`. Sends no request if the whole branch is served. */
  async shaIn(root: string, options: Cancellable): Promise<string> {
    return (await this.#resolve(root, options)).sha;
  }

  async #resolve(
    root: string,
    options: Cancellable,
  ): Promise<{ readonly above: readonly Tree[]; readonly sha: string }> {
    const above: Tree[] = [];
    let sha = root;
    for (const name of this.#names) {
      const tree = await this.#trees.readAbove(sha, options);
      above.push(tree);
      const entry = tree.entries.get(name);
      if (!entry && !tree.nonUtf8Names.has(name)) return { above, sha: EMPTY_TREE.sha };
      if (!entry || !isFolder(entry)) throw this.#notAFolder();
      sha = entry.sha;
    }
    return { above, sha };
  }

  #notAFolder(): StoreError {
    const message = `GITHUB_PATH ${quoted(withoutSlash(this.path))} is not a folder on the branch ${this.#branch}. Set it to a folder; symbolic links and submodules are not followed.`;
    return new StoreError('store-misconfigured', message, { retryAfter: LONG_RETRY_AFTER_SECONDS });
  }
}
