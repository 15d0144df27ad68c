import { setTimeout as delay } from 'node:timers/promises';
import { type FilePath, type FolderPath, foundFile, foundFolder, MAX_KEY_BYTES, ROOT } from '../../../model/path.ts';
import type { ReportChanges } from '../../../model/store.ts';
import { isFolder } from './objects.ts';
import { MARKER } from './reserved-names.ts';
import type { ServedFolder } from './served-folder.ts';
import type { Snapshots } from './snapshots.ts';
import type { Trees } from './trees.ts';

/** Milliseconds between two requests for the head. GitHub does not count a response without changes. */
const POLL_MS = 30_000;

/** Maximum paths that are reported for one pair of heads. More count as unknown. */
const MAX_PATHS = 1000;

export interface BranchWatcherOptions {
  readonly report: ReportChanges;
  readonly signal: AbortSignal;
  readonly pollMs?: number | undefined;
}

/** Compares the served folder of each new head with that of the head before. */
export class BranchWatcher {
  readonly #snapshots: Snapshots;
  readonly #trees: Trees;
  readonly #served: ServedFolder;
  readonly #options: BranchWatcherOptions;

  constructor(snapshots: Snapshots, trees: Trees, served: ServedFolder, options: BranchWatcherOptions) {
    this.#snapshots = snapshots;
    this.#trees = trees;
    this.#served = served;
    this.#options = options;
  }

  /** Watches until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { report, signal, pollMs = POLL_MS } = this.#options;
    let known: string | undefined;
    while (!signal.aborted) {
      try {
        const { root } = await this.#snapshots.latest({ signal });
        const current = await this.#served.shaIn(root, { signal });
        const paths = known === undefined ? undefined : await this.#compare(known, current);
        known = current;
        if (paths?.length !== 0) report(paths);
      } catch {
        // The branch is compared with the same head as soon as it can be read again.
      }
      await delay(pollMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Returns the paths that differ between two trees; undefined if there are too many. Reads only trees that differ. */
  async #compare(before: string, after: string): Promise<readonly (FilePath | FolderPath)[] | undefined> {
    const { signal } = this.#options;
    const changed: (FilePath | FolderPath)[] = [];
    const pairs = before === after ? [] : [{ folder: ROOT, before, after }];
    for (const pair of pairs) {
      const old = (await this.#trees.read(pair.before, { signal })).entries;
      const now = (await this.#trees.read(pair.after, { signal })).entries;
      for (const name of new Set([...old.keys(), ...now.keys()])) {
        const [left, right] = [old.get(name), now.get(name)];
        if (left?.sha === right?.sha && left?.mode === right?.mode) continue;
        const folder = foundFolder(pair.folder, name, MAX_KEY_BYTES);
        const file = foundFile(pair.folder, name, MAX_KEY_BYTES);
        if (folder === undefined || file === undefined) continue;
        const [wasFolder, isNowFolder] = [left && isFolder(left), right && isFolder(right)];
        if (left && right && wasFolder && isNowFolder) pairs.push({ folder, before: left.sha, after: right.sha });
        else if (name === MARKER) changed.push(pair.folder);
        else changed.push(wasFolder || isNowFolder ? folder : file);
        if (changed.length > MAX_PATHS || pairs.length > MAX_PATHS) return undefined;
      }
    }
    return changed;
  }
}
