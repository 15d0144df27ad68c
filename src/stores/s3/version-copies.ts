import { type BoundedItem, ownerOf, SizeBound } from '../../files/size-bound.ts';
import { isExpired } from '../../model/clock.ts';
import { quoted, StoreError } from '../../model/error.ts';
import { type KeptId, newKeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { invalidCursor } from '../../model/page.ts';
import { type FilePath, type FolderPath, isFolder, MAX_KEY_BYTES } from '../../model/path.ts';
import { mediaTypeOf, UNKNOWN_TYPE } from '../../model/presentation.ts';
import type { Cancellable, Content, ExpiredVersions, FileEntry, Keep, VersionListing } from '../../model/store.ts';
import { versionNotFound } from '../../model/store-errors.ts';
import { BufferedContent } from '../../streams/bodies.ts';
import type { VersionSource } from './bucket-versions.ts';
import { createEntries } from './entries.ts';
import type { FileContext } from './files.ts';
import { type Key, toFullKey } from './keys.ts';
import { MAX_KEYS, readPage } from './list.ts';
import type { Attributes, ListedObject } from './operations.ts';
import { Reader } from './read.ts';
import {
  formatVersionName,
  historyOf,
  isBelow,
  keyRangeOf,
  mirroredPath,
  mirrorOf,
  parseVersionKey,
  VERSIONS,
} from './version-keys.ts';
import { walkInAnyOrder } from './walk.ts';

type VersionContext = Pick<FileContext, 'bucket' | 'copier' | 'remover'>;
type ReadOptions = NonNullable<Parameters<Reader['read']>[1]>;

/** Versions as copies, for buckets without object versions: the store copies each content before it is replaced. */
export class VersionCopies implements VersionSource {
  readonly #context: VersionContext;
  readonly #reader: Reader;

  constructor(context: VersionContext) {
    this.#context = context;
    this.#reader = new Reader(context.bucket, createEntries(undefined));
  }

  async keep(present: FileEntry, { user }: Keep): Promise<{ id: KeptId; discard(): Promise<void> }> {
    const { copier, remover } = this.#context;
    const id = newKeptId();
    const key = this.#keyOf(present, id, user);
    const discard = () => remover.removeObject(key, {});
    try {
      await copier.copyQuickly({ ...present, key: present.path }, key, { exclusive: false });
    } catch (error) {
      // The store might have copied another content.
      await discard();
      throw error;
    }
    return { id, discard };
  }

  /** The key of a version records the user. */
  async attributesOf(): Promise<Attributes> {
    return {};
  }

  /** Returns whether an id or cursor can be one of these versions. */
  isOwn(id: string): boolean {
    return timeOfKeptId(id) !== undefined;
  }

  /** Returns the key of a new version. Omits a username that is too long. */
  #keyOf({ path, modified }: FileEntry, id: KeptId, user: string | undefined): Key {
    const names = [formatVersionName({ id, modified, user }), formatVersionName({ id, modified })];
    const keys = names.map((name) => historyOf(path) + name);
    const fitting = keys.find((key) => Buffer.byteLength(toFullKey(this.#context.bucket, key)) <= MAX_KEY_BYTES);
    if (fitting !== undefined) return fitting;
    const message = `The path ${quoted(path)} is too long to keep the version that would be replaced. Delete the file first.`;
    throw new StoreError('path-too-long', message);
  }

  /** Fulfils the contract of `Store.listVersions`. */
  async list(
    file: FilePath,
    { cursor, limit = MAX_KEYS, signal }: { cursor?: string; limit?: number } & Cancellable,
  ): Promise<VersionListing> {
    if (cursor !== undefined && timeOfKeptId(cursor) === undefined) throw invalidCursor(cursor);
    const after = cursor === undefined ? undefined : keyRangeOf(file, cursor as KeptId).end;
    const options = { prefix: historyOf(file), limit, position: undefined, after, signal };
    const { objects, next } = await readPage(this.#context.bucket, options);
    const versions = objects.flatMap(({ key, size }) => {
      const { id, modified, replacedAt, user } = parseVersionKey(key) ?? {};
      if (id === undefined || modified === undefined || replacedAt === undefined) return [];
      return [{ id, size, modified, replacedAt, ...(user !== undefined && { replacedBy: user }) }];
    });
    const last = versions.at(-1);
    return { versions, ...(next && last && { cursor: last.id }) };
  }

  /** Fulfils the contract of `Store.readVersion`. */
  async read(file: FilePath, id: KeptId, options: ReadOptions): Promise<Content> {
    const found = await this.find(file, id, options);
    const content = await this.#reader.read(found.key as FilePath, options);
    const { type } = content.file;
    return withEntry(content, {
      ...content.file,
      path: file,
      modified: parseVersionKey(found.key)?.modified ?? null,
      type: type === UNKNOWN_TYPE ? mediaTypeOf(file) : type,
    });
  }

  /** Returns the object of a version. Throws `not-found`. */
  async find(file: FilePath, id: KeptId, options: Cancellable): Promise<ListedObject> {
    if (timeOfKeptId(id) === undefined) throw versionNotFound(file, id);
    const { bucket } = this.#context;
    const { start } = keyRangeOf(file, id);
    const { objects } = await readPage(bucket, {
      prefix: start,
      limit: 1,
      position: undefined,
      signal: options.signal,
    });
    const [found] = objects;
    if (!found) throw versionNotFound(file, id);
    return found;
  }

  /** Fulfils the contract of `Store.purgeVersions`. */
  async purge(path: FilePath | FolderPath, { before, signal }: { before?: Date } & Cancellable): Promise<void> {
    const isPurged = ({ key }: ListedObject) => {
      const replacedAt = parseVersionKey(key)?.replacedAt;
      if (isFolder(path) && !isBelow(key, path)) return false;
      return replacedAt !== undefined && (before === undefined || replacedAt < before);
    };
    await this.#remove(isFolder(path) ? mirrorOf(path) : historyOf(path), isPurged, { signal });
  }

  /** Fulfils the contract of `Store.expireVersions`. */
  async expire({
    before = new Date(0),
    maxBytes,
    signal,
  }: { before?: Date; maxBytes?: number } & Cancellable): Promise<ExpiredVersions> {
    const bound = maxBytes === undefined ? undefined : new SizeBound(maxBytes);
    if (bound) {
      do {
        for await (const version of this.#all({ signal })) if (!isExpired(version.time, before)) bound.note(version);
      } while (bound.decide());
    }
    const result = { removed: 0, remaining: 0, bytes: 0 };
    const undecided: StoredVersion[] = [];
    const isRemoved = (object: ListedObject) => {
      const version = storedVersion(object);
      if (!version) return false;
      const verdict = isExpired(version.time, before) ? 'remove' : (bound?.verdict(version) ?? 'keep');
      if (verdict === 'undecided') undecided.push(version);
      if (verdict === 'remove') {
        result.removed++;
        return true;
      }
      result.remaining++;
      result.bytes += version.size;
      return false;
    };
    await this.#remove(VERSIONS, isRemoved, { signal });
    const newestFirst = undecided.toSorted((left, right) => (left.id < right.id ? -1 : 1));
    const chosen = bound?.choose(newestFirst) ?? [];
    await this.#context.remover.removeAll(each(chosen.map(({ object }) => object)), { onlyUnchanged: false, signal });
    const bytes = chosen.reduce((sum, { size }) => sum + size, 0);
    return {
      removed: result.removed + chosen.length,
      remaining: result.remaining - chosen.length,
      bytes: result.bytes - bytes,
    };
  }

  async *#all(options: Cancellable): AsyncGenerator<StoredVersion> {
    for await (const object of walkInAnyOrder(this.#context.bucket, VERSIONS, options)) {
      const version = storedVersion(object);
      if (version) yield version;
    }
  }

  async #remove(prefix: Key, isRemoved: (object: ListedObject) => boolean, { signal }: Cancellable): Promise<void> {
    const objects = walkInAnyOrder(this.#context.bucket, prefix, { signal });
    const removed = async function* () {
      for await (const object of objects) if (isRemoved(object)) yield object;
    };
    await this.#context.remover.removeAll(removed(), { onlyUnchanged: false, signal });
  }
}

/** Returns the content with another entry. */
function withEntry({ bytes, range, body }: Content, file: FileEntry): Content {
  return bytes ? new BufferedContent(file, range, bytes) : { file, body, ...(range && { range }) };
}

/** A version in a walk through all of them. */
interface StoredVersion extends BoundedItem {
  readonly object: ListedObject;
  readonly id: KeptId;
}

function storedVersion(object: ListedObject): StoredVersion | undefined {
  const parsed = parseVersionKey(object.key);
  if (!parsed) return undefined;
  const { id, user, replacedAt } = parsed;
  return { object, id, owner: ownerOf(mirroredPath(object.key), user), time: replacedAt, size: object.size };
}

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
