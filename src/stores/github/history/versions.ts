import { isStoreError } from '../../../model/error.ts';
import type { KeptId } from '../../../model/kept-ids.ts';
import { invalidCursor } from '../../../model/page.ts';
import type { FilePath } from '../../../model/path.ts';
import type {
  Cancellable,
  Content,
  FileEntry,
  FileVersion,
  Keeping,
  Store,
  VersionListing,
  WriteCondition,
} from '../../../model/store.ts';
import { versionNotFound } from '../../../model/store-errors.ts';
import type { ServedFolder } from '../branch/served-folder.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import { putFile } from '../commits/changes.ts';
import type { CommitQueue } from '../commits/commit-queue.ts';
import { parseTrailers } from '../commits/trailers.ts';
import { type FoundFile, type Reader, runKeeping } from '../files.ts';
import type { ListedCommit } from '../host/host.ts';
import type { CommitLog } from './commit-log.ts';

/** Maximum versions on a page, because each can take a request for each folder of the path. */
const MAX_PAGE_VERSIONS = 20;

export interface BranchVersionsOptions {
  readonly snapshots: Snapshots;
  readonly served: ServedFolder;
  readonly queue: CommitQueue;
  readonly log: CommitLog;
  readonly reader: Reader;
}

/** A commit that replaced or deleted a file, and the one that wrote the content before. */
interface Replacement {
  readonly id: KeptId;
  readonly by: ListedCommit;
  readonly written: ListedCommit;
}

type ReadOptions = NonNullable<Parameters<Store['read']>[1]>;

/**
 * The versions of the files of a branch: the commits that changed them. The id of a version is the parent of the commit
 * that replaced it, which contains the version.
 */
export class BranchVersions {
  readonly #options: BranchVersionsOptions;

  constructor(options: BranchVersionsOptions) {
    this.#options = options;
  }

  /** Fulfils the contract of `Store.listVersions`. */
  async list(
    file: FilePath,
    { cursor, limit = MAX_PAGE_VERSIONS, signal }: { cursor?: string; limit?: number } & Cancellable,
  ): Promise<VersionListing> {
    if (cursor !== undefined && !isCommit(cursor)) throw invalidCursor(cursor);
    const versions: FileVersion[] = [];
    let isAfterCursor = cursor === undefined;
    for await (const replacement of this.#replacements(file, { signal })) {
      if (versions.length === Math.min(limit, MAX_PAGE_VERSIONS)) return { versions, cursor: versions.at(-1)?.id };
      const version = isAfterCursor ? await this.#versionOf(file, replacement, { signal }) : undefined;
      if (version) versions.push(version);
      isAfterCursor ||= replacement.id === cursor;
    }
    return { versions };
  }

  /** Fulfils the contract of `Store.readVersion`. */
  async read(file: FilePath, id: KeptId, options: ReadOptions): Promise<Content> {
    return this.#options.reader.open(await this.#find(file, id, options), options);
  }

  /** Fulfils the contract of `Store.restoreVersion`. */
  async restore(
    file: FilePath,
    id: KeptId,
    { condition, keep, signal }: { condition?: WriteCondition } & Keeping & Cancellable,
  ): Promise<FileEntry> {
    const { blob } = await this.#find(file, id, { signal });
    const change = putFile(file, { sha: blob.sha, size: blob.size }, { condition, keep, verb: 'Restore' });
    return runKeeping(this.#options.queue, change, { keep, signal });
  }

  /**
   * Finds a version among the commits that changed the file. Any other commit of the repository, for example of a fork,
   * must not be readable through the branch.
   */
  async #find(file: FilePath, id: KeptId, { signal }: Cancellable): Promise<FoundFile> {
    if (!isCommit(id)) throw versionNotFound(file, id);
    for await (const replacement of this.#replacements(file, { signal })) {
      const found = replacement.id === id ? await this.#contentOf(file, replacement, { signal }) : undefined;
      if (found) return found;
    }
    throw versionNotFound(file, id);
  }

  /** Yields the commits that replaced or deleted the file, the newest first. */
  async *#replacements(file: FilePath, options: Cancellable): AsyncGenerator<Replacement> {
    const { snapshots, served, log } = this.#options;
    const { head } = await snapshots.current(options);
    if (head === undefined) return;
    let by: ListedCommit | undefined;
    for await (const commit of log.read(head, served.fullPath(file), options)) {
      const parent = by?.parents[0];
      if (by && parent !== undefined) yield { id: parent as KeptId, by, written: commit };
      by = commit;
    }
  }

  /** Returns the content that a commit replaced; undefined if it created the file. */
  async #contentOf(file: FilePath, { written }: Replacement, options: Cancellable): Promise<FoundFile | undefined> {
    try {
      return await this.#options.reader.findIn({ head: written.sha, root: written.tree }, file, options);
    } catch (error) {
      if (isStoreError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  async #versionOf(file: FilePath, replacement: Replacement, options: Cancellable): Promise<FileVersion | undefined> {
    const found = await this.#contentOf(file, replacement, options);
    if (!found) return undefined;
    const { id, by, written } = replacement;
    const path = this.#options.served.fullPath(file);
    const [replacedBy, user] = [userOf(by, path), userOf(written, path)];
    return {
      id,
      size: found.file.size,
      modified: written.committedAt,
      replacedAt: by.committedAt,
      message: written.message.split('\n', 1)[0] ?? '',
      ...(replacedBy !== undefined && { replacedBy }),
      ...(user !== undefined && { user }),
    };
  }
}

/** Returns the user who changed a file: as Holdall recorded it, or the author of a commit by another program. */
function userOf({ message, author }: ListedCommit, path: string): string | undefined {
  const { isOwn, users } = parseTrailers(message);
  return users.get(path) ?? (isOwn ? undefined : author);
}

const isCommit = (id: string): boolean => /^[0-9a-f]{40}$/.test(id);
