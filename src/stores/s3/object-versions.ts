import { concurrently, mapAhead } from '../../concurrency/concurrently.ts';
import { type BoundedItem, ownerOf, SizeBound } from '../../files/size-bound.ts';
import { isStoreError } from '../../model/error.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import { invalidCursor } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, ROOT } from '../../model/path.ts';
import type {
  Cancellable,
  Content,
  ExpiredVersions,
  FileEntry,
  FileVersion,
  Keep,
  VersionListing,
} from '../../model/store.ts';
import { versionNotFound, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { VersionSource } from './bucket-versions.ts';
import type { Source } from './copy-source.ts';
import { createEntries, type Entries, inSeconds } from './entries.ts';
import { listingMismatch } from './errors.ts';
import { canBeInXml, decodeKey, fromFullKey, type Key } from './keys.ts';
import {
  type Attributes,
  deleteVersion,
  deleteVersions,
  headObject,
  type ListedVersion,
  listObjectVersions,
} from './operations.ts';
import { isOwn, OWN_FOLDER } from './own-folder.ts';
import { Reader, type ReadObjectOptions } from './read.ts';

/** The metadata of an object: the user who wrote it, percent-encoded. */
const USER_HEADER = 'x-amz-meta-holdall-user';

/** Maximum versions on a page, because each takes a request for its user, and maximum such requests in progress. */
const MAX_PAGE_VERSIONS = 100;
const HEAD_CONCURRENCY = 16;

/** Maximum versions that one request deletes, and maximum delete requests in progress for single versions. */
const MAX_BATCH = 1000;
const MAX_CONCURRENT_DELETES = 32;

/** A version or delete marker, and the one that replaced it. */
interface FoundVersion extends ListedVersion {
  readonly newer: ListedVersion | undefined;
}

/** A content that another one replaced. */
interface Replaced extends ListedVersion {
  readonly newer: ListedVersion;
  readonly replacedAt: Date;
}

/**
 * Versions as object versions, for buckets with versioning. Keeping one costs no copy. What a delete marker hides was
 * deleted or moved and not replaced, so it is not listed, but purged and expired like a version.
 */
export class ObjectVersions implements VersionSource {
  readonly #bucket: Bucket;
  readonly #entries: Entries;
  readonly #reader: Reader;

  constructor(bucket: Bucket) {
    const entries = createEntries(undefined);
    this.#bucket = bucket;
    // The entries of several versions have one path, so they must not be remembered.
    this.#entries = { ...entries, of: entries.listed, remembered: () => undefined };
    this.#reader = new Reader(bucket, this.#entries);
  }

  async keep({ path, etag }: FileEntry): ReturnType<VersionSource['keep']> {
    const head = await headObject(this.#bucket, path, {});
    if (head.etag !== etag) throw versionReplaced(path);
    // An object from before the bucket had versions has the id `null`.
    const versionId = String(head.headers['x-amz-version-id'] ?? 'null');
    return { id: formatId(versionId), discard: async () => {} };
  }

  async attributesOf({ user }: Keep): Promise<Attributes> {
    return { [USER_HEADER]: user === undefined ? undefined : encodeURIComponent(user.toWellFormed()) };
  }

  isOwn(id: string): boolean {
    return parseId(id) !== undefined;
  }

  async list(
    file: FilePath,
    { cursor, limit = MAX_PAGE_VERSIONS, signal }: { cursor?: string | undefined; limit?: number } & Cancellable,
  ): Promise<VersionListing> {
    if (cursor !== undefined && !this.isOwn(cursor)) throw invalidCursor(cursor);
    const page: Replaced[] = [];
    let isReached = cursor === undefined;
    let isMore = false;
    for await (const version of this.#versionsOf(file, { signal })) {
      if (isReached && page.length === Math.min(limit, MAX_PAGE_VERSIONS)) {
        isMore = true;
        break;
      }
      if (isReached) page.push(version);
      isReached ||= formatId(version.versionId) === cursor;
    }
    const versions: FileVersion[] = [];
    const load = (version: Replaced) => this.#userOf(version.newer, { signal });
    for await (const { item, found: user } of mapAhead(each(page), HEAD_CONCURRENCY, load)) {
      const { versionId, size, modified, replacedAt } = item;
      const id = formatId(versionId);
      versions.push({
        id,
        size,
        modified: modified ? inSeconds(modified) : null,
        replacedAt,
        ...(user !== undefined && { replacedBy: user }),
      });
    }
    return { versions, ...(isMore && { cursor: versions.at(-1)?.id }) };
  }

  async read(file: FilePath, id: KeptId, options: ReadObjectOptions): Promise<Content> {
    const { versionId } = await this.find(file, id, options);
    try {
      return await this.#reader.readObject(file, { ...options, versionId });
    } catch (error) {
      throw isStoreError(error, 'not-found') ? versionNotFound(file, id, error) : error;
    }
  }

  async find(file: FilePath, id: KeptId, { signal }: Cancellable): Promise<Source & { readonly versionId: string }> {
    for await (const { key, size, etag, versionId } of this.#versionsOf(file, { signal })) {
      if (formatId(versionId) === id) return { key, size, etag, versionId };
    }
    throw versionNotFound(file, id);
  }

  async purge(path: FilePath | FolderPath, { before, signal }: { before?: Date } & Cancellable): Promise<void> {
    const isMeant = (version: FoundVersion) =>
      !isOwn(version.key) && (isFolder(path) || version.key === path) && isBefore(version, before);
    await this.#remove(this.#walk(path, { signal }), (version) => isMeant(version) && !isCurrent(version), { signal });
    await this.#removeMarkers(path, isMeant, { signal });
  }

  async expire({
    before = new Date(0),
    maxBytes,
    signal,
  }: { before?: Date; maxBytes?: number } & Cancellable): Promise<ExpiredVersions> {
    const bound = maxBytes === undefined ? undefined : new SizeBound(maxBytes);
    if (bound) {
      do {
        for await (const found of this.#walk(ROOT, { signal })) {
          const version = replacedOf(found);
          if (version && !isOwn(version.key) && version.replacedAt >= before) bound.note(boundedItem(version));
        }
      } while (bound.decide());
    }
    const result = { removed: 0, remaining: 0, bytes: 0 };
    const undecided: Replaced[] = [];
    const isExpired = (found: FoundVersion): boolean => {
      // What is deleted in Holdall's own folder is never needed again.
      if (isOwn(found.key)) return !isCurrent(found);
      const version = replacedOf(found);
      if (!version) return !isCurrent(found) && isBefore(found, before);
      const verdict = version.replacedAt < before ? 'remove' : (bound?.verdict(boundedItem(version)) ?? 'keep');
      if (verdict === 'undecided') undecided.push(version);
      if (verdict === 'remove') result.removed++;
      else {
        result.remaining++;
        result.bytes += version.size;
      }
      return verdict === 'remove';
    };
    await this.#remove(this.#walk(ROOT, { signal }), isExpired, { signal });
    const newestFirst = undecided.toSorted((left, right) => right.replacedAt.getTime() - left.replacedAt.getTime());
    const chosen = bound?.choose(newestFirst.map((version) => ({ ...version, ...boundedItem(version) }))) ?? [];
    await this.#remove(each(chosen), () => true, { signal });
    await this.#removeMarkers(ROOT, (marker) => isOwn(marker.key) || isBefore(marker, before), { signal });
    return {
      removed: result.removed + chosen.length,
      remaining: result.remaining - chosen.length,
      bytes: result.bytes - chosen.reduce((sum, { size }) => sum + size, 0),
    };
  }

  /** Permanently removes what was deleted below a prefix in Holdall's own folder. */
  async erase(prefix: Key, options: Cancellable): Promise<void> {
    if (!prefix.startsWith(OWN_FOLDER)) throw new Error(`${prefix} is not in Holdall's own folder.`);
    await this.#remove(this.#walk(prefix, options), (version) => !isCurrent(version), options);
    await this.#removeMarkers(prefix, () => true, options);
  }

  /** Yields the replaced contents of a file, the newest first. */
  async *#versionsOf(file: FilePath, options: Cancellable): AsyncGenerator<Replaced> {
    for await (const found of this.#walk(file, options)) {
      // Keys are sorted, so the versions of the file come before those of longer keys.
      if (found.key !== file) return;
      const version = replacedOf(found);
      if (version && !version.newer.isMarker) yield version;
    }
  }

  /** Yields all versions and delete markers whose keys begin with a prefix, the newest of each key first. */
  async *#walk(prefix: Key, options: Cancellable): AsyncGenerator<FoundVersion> {
    let last: ListedVersion | undefined;
    for (;;) {
      const page = await listObjectVersions(this.#bucket, { prefix, after: last }, options);
      let found = 0;
      for (const listed of page.versions) {
        const fullKey = page.isEncoded ? decodeKey(listed.key) : listed.key;
        // No request can name a key that is not UTF-8.
        if (fullKey === undefined) continue;
        const key = fromFullKey(this.#bucket, fullKey);
        if (key === undefined || !key.startsWith(prefix)) throw listingMismatch(this.#bucket.endpoint);
        const version = { ...listed, key };
        yield { ...version, newer: last?.key === key ? last : undefined };
        last = version;
        found++;
      }
      if (!page.isTruncated || found === 0) return;
    }
  }

  /**
   * Removes current delete markers of keys without versions. Otherwise, the removal of the marker would restore the newest
   * version.
   */
  async #removeMarkers(prefix: Key, isMeant: (marker: FoundVersion) => boolean, options: Cancellable): Promise<void> {
    const versions = this.#walk(prefix, options);
    const markers = async function* () {
      let last: FoundVersion | undefined;
      for await (const version of versions) {
        if (last && last.key !== version.key) yield last;
        last = isCurrent(version) && version.isMarker && isMeant(version) ? version : undefined;
      }
      if (last) yield last;
    };
    await this.#remove(markers(), () => true, options);
  }

  /** Permanently removes versions. */
  async #remove<Version extends ListedVersion>(
    versions: AsyncIterable<Version>,
    isRemoved: (version: Version) => boolean,
    { signal }: Cancellable,
  ): Promise<void> {
    let batch: Version[] = [];
    for await (const version of versions) {
      if (isRemoved(version)) batch.push(version);
      if (batch.length < MAX_BATCH) continue;
      await this.#removeBatch(batch, { signal });
      batch = [];
    }
    if (batch.length > 0) await this.#removeBatch(batch, { signal });
  }

  async #removeBatch(batch: readonly ListedVersion[], { signal }: Cancellable): Promise<void> {
    const inXml = batch.filter(({ key }) => canBeInXml(key));
    const failed = inXml.length === 0 ? undefined : await deleteVersions(this.#bucket, inXml, { signal });
    const others = batch.filter(({ key }) => !canBeInXml(key) || failed?.has(key));
    const remove = (version: ListedVersion) => deleteVersion(this.#bucket, version, { signal });
    await concurrently(each(others), MAX_CONCURRENT_DELETES, remove, signal);
  }

  /** Returns the user who wrote a version, if Holdall recorded one. */
  async #userOf({ key, versionId }: ListedVersion, { signal }: Cancellable): Promise<string | undefined> {
    try {
      const { headers } = await headObject(this.#bucket, key, { versionId, signal });
      const user = headers[USER_HEADER];
      return typeof user === 'string' ? decodeURIComponent(user) : undefined;
    } catch (error) {
      // It was removed meanwhile, or another program has written the metadata.
      if (isStoreError(error, 'not-found') || error instanceof URIError) return undefined;
      throw error;
    }
  }
}

/** Returns a version with the time at which it was replaced; undefined for a current one and for a delete marker. */
function replacedOf({ newer, ...version }: FoundVersion): Replaced | undefined {
  if (!newer || version.isMarker) return undefined;
  return { ...version, newer, replacedAt: newer.modified ?? new Date(0) };
}

/** A listing does not have the user. */
const boundedItem = ({ key, replacedAt, size }: Replaced): BoundedItem => ({
  owner: ownerOf(key as FilePath, undefined),
  time: replacedAt,
  size,
});

const isCurrent = ({ isLatest }: ListedVersion): boolean => isLatest;

/** Returns whether a version was replaced, or a current delete marker created, before a time. */
function isBefore(version: FoundVersion, before: Date | undefined): boolean {
  const { modified } = version.newer ?? version;
  return before === undefined || (modified !== undefined && modified < before);
}

const SAFE_ID = /^[\w.-]+$/;

/** Returns the id of a version. Its first letter tells how the id of the store follows. */
const formatId = (versionId: string): KeptId =>
  (SAFE_ID.test(versionId) ? `v${versionId}` : `b${Buffer.from(versionId).toString('base64url')}`) as KeptId;

/** Returns the version id of the store; undefined for an id that `formatId` did not return. */
function parseId(id: string): string | undefined {
  const versionId = id.startsWith('v') ? id.slice(1) : Buffer.from(id.slice(1), 'base64url').toString();
  return /^[vb]./.test(id) && formatId(versionId) === id ? versionId : undefined;
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
