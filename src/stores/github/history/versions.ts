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
import { type History, putFile } from '../commits/changes.ts';
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

/** A content of a file. */
interface WrittenContent {
  /** The commit that wrote it, or the one that deleted the file. */
  readonly written: ListedCommit;
  /** The commit that replaced it, and the id of the version that it created. Absent for the current content. */
  readonly replaced?: { readonly by: ListedCommit; readonly id: KeptId };
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

  readonly lastCommitOf: History['lastCommitOf'] = (head, file) =>
    this.#options.log.lastOf(head, this.#options.served.fullPath(file));

  /** Fulfils the contract of `Store.listVersions`. */
  async list(
    file: FilePath,
    { cursor, limit = MAX_PAGE_VERSIONS, signal }: { cursor?: string; limit?: number } & Cancellable,
  ): Promise<VersionListing> {
    if (cursor !== undefined && !isCommit(cursor)) throw invalidCursor(cursor);
    const versions: FileVersion[] = [];
    let isAfterCursor = cursor === undefined;
    for await (const content of this.#contents(file, { signal })) {
      if (versions.length === Math.min(limit, MAX_PAGE_VERSIONS)) return { versions, cursor: versions.at(-1)?.id };
      const version = isAfterCursor ? await this.#versionOf(file, content, { signal }) : undefined;
      if (version) versions.push(version);
      isAfterCursor ||= content.replaced?.id === cursor;
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
    const options = { condition, keep, lastCommitOf: this.lastCommitOf, verb: 'Restore' };
    const change = putFile(file, { sha: blob.sha, size: blob.size }, options);
    return runKeeping(this.#options.queue, change, { keep, signal });
  }

  /**
   * Finds a version, or a content by the commit that wrote it (`lastCommitOf`), among the commits that changed the file. Any
   * other commit of the repository, for example of a fork, must not be readable through the branch.
   */
  async #find(file: FilePath, id: KeptId, { signal }: Cancellable): Promise<FoundFile> {
    if (!isCommit(id)) throw versionNotFound(file, id);
    for await (const { written, replaced } of this.#contents(file, { signal })) {
      const isNamed = written.sha === id || replaced?.id === id;
      const found = isNamed ? await this.#contentOf(file, written, { signal }) : undefined;
      if (found) return found;
    }
    throw versionNotFound(file, id);
  }

  /** Yields the contents of the file, the newest first, and its deletions. */
  async *#contents(file: FilePath, options: Cancellable): AsyncGenerator<WrittenContent> {
    const { snapshots, served, log } = this.#options;
    const { head } = await snapshots.current(options);
    if (head === undefined) return;
    let by: ListedCommit | undefined;
    for await (const written of log.read(head, served.fullPath(file), options)) {
      const parent = by?.parents[0];
      yield { written, ...(by && parent !== undefined && { replaced: { by, id: parent as KeptId } }) };
      by = written;
    }
  }

  /** Returns the content that a commit wrote; undefined if it deleted the file. */
  async #contentOf(file: FilePath, written: ListedCommit, options: Cancellable): Promise<FoundFile | undefined> {
    try {
      return await this.#options.reader.findIn({ head: written.sha, root: written.tree }, file, options);
    } catch (error) {
      if (isStoreError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  /** Returns the version that a content became; undefined for the current content, and for a deletion. */
  async #versionOf(
    file: FilePath,
    { written, replaced }: WrittenContent,
    options: Cancellable,
  ): Promise<FileVersion | undefined> {
    const found = replaced && (await this.#contentOf(file, written, options));
    if (!found) return undefined;
    const { by, id } = replaced;
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
