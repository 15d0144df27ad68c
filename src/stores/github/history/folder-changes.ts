import { type FolderPath, withoutSlash } from '../../../model/path.ts';
import type { Cancellable, FolderChange } from '../../../model/store.ts';
import { isFolder } from '../branch/objects.ts';
import type { ServedFolder } from '../branch/served-folder.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import type { CommitLog } from './commit-log.ts';

export interface FolderChangesOptions {
  readonly snapshots: Snapshots;
  readonly trees: Trees;
  readonly served: ServedFolder;
  readonly log: CommitLog;
}

/** Tells from the history of a branch what happened to a folder. A state of the branch is its head. */
export class FolderChanges {
  readonly #options: FolderChangesOptions;

  constructor(options: FolderChangesOptions) {
    this.#options = options;
  }

  /** Fulfils the contract of `Store.state`. */
  async state(options: Cancellable): Promise<string> {
    return (await this.#options.snapshots.latest(options)).head ?? '';
  }

  /** Fulfils the contract of `Store.changeSince`. */
  async since(state: string, folder: FolderPath, options: Cancellable): Promise<FolderChange> {
    const { served, log } = this.#options;
    const head = await this.state(options);
    if (head === state) return 'none';
    const later = await this.#commitsAfter(state, head, options);
    if (!later) return 'replaced';
    const path = withoutSlash((served.path + folder) as FolderPath);
    let change: FolderChange = 'none';
    for await (const { sha, tree } of log.read(head, path, options)) {
      if (!later.has(sha)) break;
      if (!(await this.#hasFolder(tree, path, options))) return 'replaced';
      change = 'content';
    }
    return change;
  }

  /** Returns the commits that followed a state. Undefined if they are too many, or if the branch was force-pushed. */
  async #commitsAfter(state: string, head: string, options: Cancellable): Promise<ReadonlySet<string> | undefined> {
    const commits = new Set<string>();
    if (state === '' || head === '') return undefined;
    for await (const { sha } of this.#options.log.read(head, undefined, options)) {
      if (sha === state) return commits;
      commits.add(sha);
    }
    return undefined;
  }

  async #hasFolder(root: string, path: string, options: Cancellable): Promise<boolean> {
    let sha = root;
    for (const name of path.split('/')) {
      const entry = (await this.#options.trees.readAbove(sha, options)).entries.get(name);
      if (!entry || !isFolder(entry)) return false;
      sha = entry.sha;
    }
    return true;
  }
}
