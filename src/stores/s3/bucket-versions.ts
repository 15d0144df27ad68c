import { isStoreError } from '../../model/error.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import { invalidCursor } from '../../model/page.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type {
  Cancellable,
  Content,
  ExpiredVersions,
  FileEntry,
  FileVersion,
  Keep,
  VersionListing,
  VersionStore,
} from '../../model/store.ts';
import { versionNotFound } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { Source } from './copy-source.ts';
import { type Attributes, getVersioning } from './operations.ts';
import type { ReplacedKeeper } from './replace.ts';

type ListOptions = NonNullable<Parameters<VersionStore['listVersions']>[1]>;
type ReadOptions = NonNullable<Parameters<VersionStore['readVersion']>[2]>;
type Limits = { before?: Date; maxBytes?: number } & Cancellable;

/** One of the two places of versions in a bucket. The members fulfil the contracts of `VersionStore`. */
export interface VersionSource extends ReplacedKeeper {
  /** Returns whether an id or cursor can be of this source. */
  isOwn(id: string): boolean;
  list(file: FilePath, options: ListOptions): Promise<VersionListing>;
  read(file: FilePath, id: KeptId, options: ReadOptions): Promise<Content>;
  /** Returns the object of a version. Throws `not-found`. */
  find(file: FilePath, id: KeptId, options: Cancellable): Promise<Source>;
  purge(path: FilePath | FolderPath, options: { before?: Date } & Cancellable): Promise<void>;
  expire(limits: Limits): Promise<ExpiredVersions>;
}

/** Milliseconds for which the versioning of the bucket is remembered. */
const VERSIONING_TTL_MS = 5 * 60_000;

/** The number of versions on a page. */
const DEFAULT_LIMIT = 100;

type Versioning = Awaited<ReturnType<typeof getVersioning>>;

/**
 * The versions of a bucket: object versions if the bucket has them, otherwise copies. An operator can enable and suspend
 * the versioning of a bucket, so a file can have both.
 */
export class BucketVersions implements ReplacedKeeper {
  readonly #bucket: Bucket;
  readonly #objects: VersionSource;
  readonly #copies: VersionSource;
  #known: { readonly versioning: Promise<Versioning>; readonly time: number } | undefined;

  constructor(bucket: Bucket, { objects, copies }: { objects: VersionSource; copies: VersionSource }) {
    this.#bucket = bucket;
    this.#objects = objects;
    this.#copies = copies;
  }

  async keep(present: FileEntry, keep: Keep): ReturnType<ReplacedKeeper['keep']> {
    const [source] = await this.#sources();
    return source.keep(present, keep);
  }

  async attributesOf(keep: Keep): Promise<Attributes> {
    const [source] = await this.#sources();
    return source.attributesOf(keep);
  }

  /** Fulfils the contract of `Store.listVersions`. The source that is in use has the newer versions. */
  async list(file: FilePath, { cursor, limit = DEFAULT_LIMIT, signal }: ListOptions): Promise<VersionListing> {
    const sources = await this.#sources();
    const versions: FileVersion[] = [];
    let isReached = cursor === undefined;
    for (const source of sources) {
      const start = isReached ? undefined : cursor;
      if (start !== undefined && !source.isOwn(start)) continue;
      isReached = true;
      if (versions.length === limit) return { versions, cursor: versions.at(-1)?.id };
      const page = await source.list(file, { cursor: start, limit: limit - versions.length, signal });
      versions.push(...page.versions);
      if (page.cursor !== undefined) return { versions, cursor: page.cursor };
    }
    if (!isReached && cursor !== undefined) throw invalidCursor(cursor);
    return { versions };
  }

  /** Fulfils the contract of `Store.readVersion`. */
  async read(file: FilePath, id: KeptId, options: ReadOptions): Promise<Content> {
    return (await this.#sourceOf(file, id)).read(file, id, options);
  }

  /** Returns the object of a version. Throws `not-found`. */
  async find(file: FilePath, id: KeptId, options: Cancellable): Promise<Source> {
    return (await this.#sourceOf(file, id)).find(file, id, options);
  }

  /** Fulfils the contract of `Store.purgeVersions`. */
  async purge(path: FilePath | FolderPath, options: { before?: Date } & Cancellable): Promise<void> {
    for (const source of await this.#sources()) await source.purge(path, options);
  }

  /** Fulfils the contract of `Store.expireVersions`. The source that is in use has the newer versions. */
  async expire({ maxBytes, ...limits }: Limits): Promise<ExpiredVersions> {
    const sum = { removed: 0, remaining: 0, bytes: 0 };
    for (const source of await this.#sources()) {
      const free = maxBytes === undefined ? {} : { maxBytes: Math.max(0, maxBytes - sum.bytes) };
      const { removed, remaining, bytes } = await source.expire({ ...limits, ...free });
      sum.removed += removed;
      sum.remaining += remaining;
      sum.bytes += bytes;
    }
    return sum;
  }

  /** Returns whether the bucket has or had object versions. */
  async hasObjectVersions(): Promise<boolean> {
    return (await this.#versioning()) !== undefined;
  }

  async #sourceOf(file: FilePath, id: KeptId): Promise<VersionSource> {
    const source = (await this.#sources()).find((each) => each.isOwn(id));
    if (!source) throw versionNotFound(file, id);
    return source;
  }

  /** Returns the sources of the bucket. The first one keeps new versions. */
  async #sources(): Promise<readonly [VersionSource, ...VersionSource[]]> {
    const versioning = await this.#versioning();
    if (versioning === 'Enabled') return [this.#objects, this.#copies];
    return versioning === 'Suspended' ? [this.#copies, this.#objects] : [this.#copies];
  }

  #versioning(): Promise<Versioning> {
    const now = performance.now();
    if (!this.#known || now - this.#known.time > VERSIONING_TTL_MS) {
      this.#known = { versioning: this.#readVersioning(), time: now };
    }
    return this.#known.versioning;
  }

  async #readVersioning(): Promise<Versioning> {
    try {
      return await getVersioning(this.#bucket, {});
    } catch (error) {
      // Stores without versions reject the request. Without the permission, copies are correct too.
      if (isStoreError(error) && error.kind !== 'unavailable') return undefined;
      // A temporary failure must not be remembered.
      this.#known = undefined;
      throw error;
    }
  }
}
