import { LRUCache } from 'lru-cache';
import { createSingleFlight } from '../../../concurrency/single-flight.ts';
import type { Cancellable } from '../../../model/store.ts';
import { COMMITS_PER_PAGE, type Host, type ListedCommit } from '../host/host.ts';

/** Maximum commits that are read of one history. Each hundred cost a request. */
export const MAX_READ_COMMITS = 1000;

/** Maximum cached pages. A page takes about 100 kB. */
const MAX_CACHED_PAGES = 100;

/** Reads the history of the branch, and caches its pages. The history of a commit never changes. */
export class CommitLog {
  readonly #host: Host;
  readonly #pages = new LRUCache<string, readonly ListedCommit[]>({ max: MAX_CACHED_PAGES });
  readonly #reads = createSingleFlight<readonly ListedCommit[]>();

  constructor(host: Host) {
    this.#host = host;
  }

  /**
   * Yields the commits that `head` contains, the newest first, at most `MAX_READ_COMMITS`. With `path`, only those that
   * changed it.
   */
  async *read(head: string, path: string | undefined, options: Cancellable): AsyncGenerator<ListedCommit> {
    for (let page = 1; page <= MAX_READ_COMMITS / COMMITS_PER_PAGE; page++) {
      const commits = await this.#page({ head, path, page }, options);
      yield* commits;
      if (commits.length < COMMITS_PER_PAGE) return;
    }
  }

  /** Returns the newest commit that `head` contains and that changed a path; `head` if there is none. */
  async lastOf(head: string, path: string): Promise<string> {
    const [last] = await this.#page({ head, path, page: 1 }, {});
    return last?.sha ?? head;
  }

  async #page(query: Parameters<Host['commits']>[0], { signal }: Cancellable): Promise<readonly ListedCommit[]> {
    const key = JSON.stringify(query);
    const read = async (cancelled: AbortSignal) => {
      const commits = await this.#host.commits(query, { signal: cancelled });
      this.#pages.set(key, commits);
      return commits;
    };
    return this.#pages.get(key) ?? this.#reads.run(key, read, signal);
  }
}
