import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { concurrently } from '../../concurrency/concurrently.ts';
import { isStoreError, quoted, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { ListingPosition } from '../../model/page.ts';
import type { FilePath } from '../../model/path.ts';
import type {
  AppendOptions,
  Cancellable,
  FileEntry,
  OrphanedUploads,
  PartToPresign,
  PendingUpload,
  PresignedParts,
  Store,
  UploadDestination,
  WriteCondition,
} from '../../model/store.ts';
import { requireSize } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { ConditionalPut } from './conditional-put.ts';
import { codeOf } from './errors.ts';
import type { Key } from './keys.ts';
import { MAX_KEYS, readPage } from './list.ts';
import {
  abortParts,
  etagOfParts,
  isNoSuchUpload,
  MAX_PARTS,
  maxConcurrentParts,
  planParts,
  splitIntoParts,
  tooManyParts,
} from './multipart.ts';
import { timeAttributes } from './object-metadata.ts';
import {
  abortMultipartUpload,
  createMultipartUpload,
  deleteObject,
  getObject,
  getText,
  headObject,
  type ListedPart,
  listParts,
  presignPart,
  putObject,
  uploadPart,
} from './operations.ts';
import type { Replacer } from './replace.ts';
import {
  type CommittedObject,
  folderOfUpload,
  formatUploadRecord,
  idOfUpload,
  keyOfRecord,
  keyOfRest,
  parseRest,
  parseUploadRecord,
  type Rest,
  sizeOfPart,
  UPLOADS,
  type UploadRecord,
} from './upload-record.ts';
import { walkInAnyOrder } from './walk.ts';
import type { Writer } from './write.ts';

export interface BucketUploadsOptions {
  readonly bucket: Bucket;
  readonly stat: Store['stat'];
  readonly puts: Pick<ConditionalPut, 'require'>;
  readonly replacer: Pick<Replacer, 'attributesOf'>;
  readonly writer: Pick<Writer, 'put' | 'complete'>;
  /** Writes an object of Holdall's own. */
  readonly writeOwn: Store['write'];
  /** Permanently removes what was deleted below a prefix, if the bucket has object versions. */
  readonly erase: (prefix: Key) => Promise<void>;
}

/**
 * Uploads whose content arrives in several requests, each with a folder `.holdall/uploads/ID`. The content is in the parts
 * of a multipart upload, which all have one size because R2 requires that, and in an object with the rest. The parts up to
 * the first missing one count, so that the offset needs no record of its own.
 *
 * A writer that lost its lease can still be running. It does no damage: it sends the same bytes to the same position, and
 * the name of a rest contains its position and length, of which the longest counts. The same is true of clients that send
 * parts to the bucket themselves, in any order. The bucket verifies those, also if they arrive while a request writes.
 */
export class BucketUploads {
  readonly #options: BucketUploadsOptions;

  constructor(options: BucketUploadsOptions) {
    this.#options = options;
  }

  /** Fulfils the contract of `Store.createUpload`. */
  async create(
    id: string,
    { file, type, modified, size, user, condition }: UploadDestination,
    { signal }: Cancellable,
  ): Promise<void> {
    requireId(id);
    const { partSize } = planParts(size, this.#options.bucket.minPartBytes);
    await this.#options.puts.require(file, condition, { signal });
    await writeRecord(this.#options, id, { file, type, modified: modified?.getTime(), size, partSize, user }, 'absent');
  }

  /** Fulfils the contract of `Store.openUpload`. */
  async open(id: string, { signal }: Cancellable): Promise<PendingUpload> {
    const upload = await this.#find(id, { signal });
    await upload.load({ signal });
    return upload;
  }

  /** Fulfils the contract of `Store.presignParts`. */
  async presignParts(
    id: string,
    parts: readonly PartToPresign[],
    options: { readonly expires: number } & Cancellable,
  ): Promise<PresignedParts> {
    return (await this.#find(id, options)).presign(parts, options);
  }

  /** Fulfils the contract of `Store.removeUploads`. */
  async removeOrphaned({ before, isOrphaned, signal }: OrphanedUploads & Cancellable): Promise<number> {
    const lastChanges = new Map<string, Date>();
    for await (const { key, modified } of walkInAnyOrder(this.#options.bucket, UPLOADS, { signal })) {
      const id = idOfUpload(key);
      const changed = modified ?? new Date();
      if (ID.test(id) && changed > (lastChanges.get(id) ?? new Date(0))) lastChanges.set(id, changed);
    }
    let count = 0;
    for (const [id, changed] of lastChanges) {
      signal?.throwIfAborted();
      if (changed >= before || !(await isOrphaned(id))) continue;
      await this.#remove(id, { signal });
      count++;
    }
    return count;
  }

  /** Removes an upload, also one without a valid record. */
  async #remove(id: string, { signal }: Cancellable): Promise<void> {
    const upload = await undefinedIfNotFound(this.#find(id, { signal }));
    if (upload) return upload.remove();
    const { bucket, erase } = this.#options;
    for await (const { key } of walkInAnyOrder(bucket, folderOfUpload(id), { signal })) {
      await deleteObject(bucket, key, { condition: {} });
    }
    await erase(folderOfUpload(id));
  }

  async #find(id: string, { signal }: Cancellable): Promise<BucketUpload> {
    requireId(id);
    const found = await undefinedIfNotFound(getText(this.#options.bucket, keyOfRecord(id), { signal }));
    const record = found && parseUploadRecord(found.text);
    if (!record) throw uploadNotFound(id);
    return new BucketUpload(this.#options, id, { record, etag: found.head.etag });
  }
}

/** A record, with the ETag of its object. */
interface StoredRecord {
  readonly record: UploadRecord;
  readonly etag: string;
}

/** The content of an upload, as the bucket has it. */
interface Arrived {
  /** The parts that count: all before the first that is missing or has another size than planned. */
  readonly parts: readonly ListedPart[];
  /** The parts of the planned size that don't count, because of a missing one before them. */
  readonly strays: readonly ListedPart[];
  /** The rest that counts. */
  readonly rest: Rest | undefined;
  /** All rests, of which some can be outdated. */
  readonly rests: readonly Rest[];
  /** The file, if a commit succeeded and then was interrupted. */
  readonly committed?: FileEntry | undefined;
}

class BucketUpload implements PendingUpload {
  readonly #options: BucketUploadsOptions;
  readonly #id: string;
  #stored: StoredRecord;
  /** Undefined after an error. */
  #arrived: Arrived | undefined;
  #offset = 0;

  constructor(options: BucketUploadsOptions, id: string, stored: StoredRecord) {
    this.#options = options;
    this.#id = id;
    this.#stored = stored;
  }

  get offset(): number {
    return this.#offset;
  }

  /** Reads which content has arrived. */
  async load(options: Cancellable): Promise<Arrived> {
    if (this.#arrived) return this.#arrived;
    const [parts, rests] = await Promise.all([this.#listParts(options), this.#listRests(options)]);
    const { commit } = this.#record;
    const committed = !parts && commit ? await this.#findCommitted(commit, options) : undefined;
    // A lifecycle rule of the bucket, or another program, has removed the parts: the content starts again.
    if (!parts && !committed) {
      this.#stored = { ...this.#stored, record: { ...this.#record, uploadId: undefined, commit: undefined } };
    }
    const counted = countParts(parts ?? [], this.#record);
    return this.#setArrived({ ...counted, rests, rest: restAfter(rests, counted.parts.length), committed });
  }

  async append(body: Readable, { signal, ...options }: AppendOptions = {}): Promise<number> {
    const abort = () => void body.destroy(signal?.reason);
    // The body can fail before it is read. Its reader then finds it destroyed.
    body.on('error', () => {});
    signal?.addEventListener('abort', abort);
    if (signal?.aborted) abort();
    try {
      return await this.#append(body, options);
    } catch (error) {
      this.#arrived = undefined;
      throw isNoSuchUpload(error) ? uploadNotFound(this.#id, error) : error;
    } finally {
      signal?.removeEventListener('abort', abort);
      body.destroy();
    }
  }

  async commit(
    file: FilePath,
    { type }: Parameters<PendingUpload['commit']>[1],
    options: NonNullable<Parameters<PendingUpload['commit']>[2]> = {},
  ): Promise<FileEntry> {
    if (file !== this.#record.file) throw new Error(`The upload is one of ${this.#record.file}, not of ${file}.`);
    try {
      const { commit } = this.#record;
      const entry = (commit && (await this.#findCommitted(commit, {}))) ?? (await this.#commit(file, type, options));
      await this.#removeObjects().catch((error: unknown) => this.#warn(error));
      return entry;
    } catch (error) {
      this.#arrived = undefined;
      // Another part has arrived after the parts were listed.
      throw error instanceof Error && codeOf(error.cause) === 'InvalidPart' ? inUse(error) : error;
    }
  }

  async remove(): Promise<void> {
    await this.#removeObjects();
  }

  /** See `Store.presignParts`. */
  async presign(
    parts: readonly PartToPresign[],
    { expires, signal }: { readonly expires: number } & Cancellable,
  ): Promise<PresignedParts> {
    const { file, size, partSize } = this.#record;
    if (size === undefined) {
      const message = 'The upload began without its size, so the store does not receive its parts directly.';
      throw new StoreError('invalid-request', message);
    }
    const sizes = parts.map(({ number }) => sizeOfPart(this.#record, number) ?? noSuchPart(number, size, partSize));
    if (parts.length > 0) await this.#allowDirect(expires, { signal });
    const { uploadId = '' } = this.#record;
    const presigned = parts.map(async ({ number, md5 }, index) => {
      const part = { uploadId, partNumber: number, size: sizes[index] ?? 0, md5, expires };
      const request = await presignPart(this.#options.bucket, file, part);
      return { number, offset: (number - 1) * partSize, size: part.size, ...request };
    });
    return { partSize, parts: await Promise.all(presigned) };
  }

  /** Prepares the bucket for parts that clients send during `expires` seconds. */
  async #allowDirect(expires: number, { signal }: Cancellable): Promise<void> {
    const until = Date.now() + (expires + CLOCK_MARGIN_SECONDS) * 1000;
    const { directUntil } = this.#record;
    if (directUntil !== undefined && (await this.#hasMultipartUpload({ signal }))) {
      // Longer than necessary, so that most calls write nothing.
      if (directUntil < until) await this.#save({ ...this.#record, directUntil: until + expires * 1000 });
      return;
    }
    const arrived = await this.load({ signal });
    if (arrived.committed) throw uploadNotFound(this.#id);
    await this.#beginParts(arrived, until + expires * 1000);
  }

  async #append(body: Readable, { verify, onDurable }: AppendOptions): Promise<number> {
    const before = await this.load({});
    if (before.committed) throw uploadNotFound(this.#id);
    // The missing part before unverified ones could arrive at any time.
    const directSeconds = Math.ceil(((this.#record.directUntil ?? 0) - Date.now()) / 1000);
    if (verify && directSeconds > 0) throw partsMayArrive(directSeconds);
    const { parts, held, last, failure } = await this.#sendParts(body, before, {
      isHeld: verify !== undefined,
      onDurable,
    });
    if (verify) {
      if (failure) throw failure.reason;
      await verify();
    }
    const count = before.parts.length + parts.length + (held ? 1 : 0);
    const rest = last && (await this.#writeRest(last, { parts: count, before: before.rest }));
    // The parts after it count from now on.
    const first = held && (await this.#sendPart(held, before.parts.length + 1));
    const isNew = rest && before.rests.every(({ key }) => key !== rest.key);
    const rests = isNew ? [...before.rests, rest] : before.rests;
    this.#setArrived({
      parts: [...before.parts, ...(first ? [first] : []), ...parts],
      strays: count > before.parts.length ? [] : before.strays,
      rest: restAfter(rests, count),
      rests,
    });
    if (failure) {
      if (rest) await this.#removeIfEnded(rest);
      throw failure.reason;
    }
    await this.#removeOutdatedRests();
    return this.#offset;
  }

  /**
   * Sends the parts that the content with this body fills. With `isHeld`, does not send the first one, so that none of
   * them counts.
   */
  async #sendParts(
    body: Readable,
    before: Arrived,
    { isHeld, onDurable }: Pick<AppendOptions, 'onDurable'> & { readonly isHeld: boolean },
  ): Promise<SentContent> {
    const { size = Number.POSITIVE_INFINITY, partSize } = this.#record;
    const maxConcurrent = maxConcurrentParts(partSize);
    const count = before.parts.length;
    const ending: { held?: Buffer; last?: Buffer; failure?: SentContent['failure'] } = {};
    const content = this.#continue(before.rest, body, (reason) => {
      ending.failure = { reason };
    });
    const splitter = splitIntoParts(content, partSize, Math.max(1, size - count * partSize));
    const begin = () => this.#beginParts(before, isHeld ? undefined : this.#record.directUntil);
    const fullParts = async function* () {
      let partNumber = count;
      for await (const part of splitter.parts) {
        if (part.length < partSize) {
          ending.last = part;
          return;
        }
        if (partNumber === count) await begin();
        partNumber++;
        if (partNumber > MAX_PARTS) throw tooManyParts();
        if (isHeld && ending.held === undefined) ending.held = part;
        else yield { part, partNumber };
      }
    };
    const parts: ListedPart[] = [];
    let durable = count;
    // A held part takes the memory of one that is in progress.
    const limit = isHeld ? Math.max(1, maxConcurrent - 1) : maxConcurrent;
    await concurrently(fullParts(), limit, async ({ part, partNumber }) => {
      parts.push(await this.#sendPart(part, partNumber));
      splitter.recycle(part);
      if (isHeld) return;
      for (const sent = new Set(parts.map((each) => each.partNumber)); sent.has(durable + 1); ) durable++;
      if (durable > count) onDurable?.(durable * partSize);
    });
    return { ...ending, parts: parts.toSorted((left, right) => left.partNumber - right.partNumber) };
  }

  /** Yields the rest that has arrived, and then the body. The end of an interrupted body is no error. */
  async *#continue(
    rest: Rest | undefined,
    body: Readable,
    onFailure: (reason: unknown) => void,
  ): AsyncGenerator<Buffer> {
    if (rest) {
      const content = await this.#readRest(rest, { isStreamed: true });
      if (Buffer.isBuffer(content)) yield content;
      else yield* content as AsyncIterable<Buffer>;
    }
    try {
      for await (const chunk of body) yield typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer);
    } catch (error) {
      onFailure(error);
    }
  }

  /**
   * Prepares the bucket for the first new part: creates the multipart upload, or replaces the stray parts. Records until
   * when clients may send parts themselves.
   */
  async #beginParts({ strays }: Arrived, directUntil: number | undefined): Promise<void> {
    const { bucket, replacer } = this.#options;
    const { file, type, user, uploadId } = this.#record;
    if (uploadId === undefined) {
      const attributes = {
        'content-type': type,
        ...timeAttributes(this.#mtime),
        ...(await replacer.attributesOf(user === undefined ? undefined : { user })),
      };
      const created = await createMultipartUpload(bucket, file, attributes);
      try {
        await this.#save({ ...this.#record, uploadId: created, directUntil });
      } catch (error) {
        await abortParts(bucket, file, created);
        throw error;
      }
      return;
    }
    if (strays.length > 0) await this.#replaceParts(strays);
    if (directUntil !== this.#record.directUntil) await this.#save({ ...this.#record, directUntil });
  }

  /** Replaces stray parts by some that never count. */
  async #replaceParts(strays: readonly ListedPart[]): Promise<void> {
    // With the missing part before them, they would count, although their content might never have been verified. A part
    // can't be removed, but one of another size does not count.
    const now = countParts((await this.#listParts({})) ?? [], this.#record).strays;
    if (!isSameParts(now, strays)) throw inUse();
    await concurrently(yieldAll(strays), STRAY_CONCURRENCY, async ({ partNumber, size }) => {
      await this.#sendPart(Buffer.alloc(size === 1 ? 2 : 1), partNumber);
    });
  }

  async #sendPart(bytes: Buffer, partNumber: number): Promise<ListedPart> {
    const { file, uploadId = '' } = this.#record;
    // The signal of the caller does not abort this request: the bytes have arrived.
    const etag = await uploadPart(this.#options.bucket, file, bytes, { uploadId, partNumber });
    return { partNumber, etag, size: bytes.length };
  }

  /** Writes the rest after a number of parts, unless the bucket already has it. */
  async #writeRest(
    bytes: Buffer,
    { parts, before }: { readonly parts: number; readonly before: Rest | undefined },
  ): Promise<Rest> {
    const size = bytes.length;
    if (before && before.parts === parts && before.size >= size) return before;
    const key = keyOfRest(this.#id, { parts, size });
    await putObject(this.#options.bucket, key, bytes, {});
    return { key, parts, size };
  }

  async #readRest({ key, size }: Rest, { isStreamed }: { readonly isStreamed: boolean }): Promise<Buffer | Readable> {
    const maxBytes = isStreamed ? MAX_BUFFERED_BYTES : size;
    const found = await undefinedIfNotFound(getObject(this.#options.bucket, key, { maxBytes, isStreamed }));
    // Another writer has continued the upload.
    if (!found) throw inUse();
    if (found.head.size === size) return found.body;
    if (found.body instanceof Readable) found.body.destroy();
    throw new Error(`The object ${key} has ${found.head.size} bytes.`);
  }

  async #commit(
    file: FilePath,
    type: string,
    options: NonNullable<Parameters<PendingUpload['commit']>[2]>,
  ): Promise<FileEntry> {
    const { writer } = this.#options;
    const { parts, rest, committed } = await this.load({});
    if (committed) return committed;
    const size = this.#offset;
    requireSize(file, size, this.#record.size);
    const bytes = rest ? await this.#readRest(rest, { isStreamed: false }) : Buffer.alloc(0);
    if (!Buffer.isBuffer(bytes)) throw new Error('The rest is a stream.');
    const { uploadId } = this.#record;
    if (parts.length === 0 || uploadId === undefined) {
      // Without a condition, the write can be repeated.
      const isRepeatable = options.condition === undefined && options.keep === undefined;
      const commit = isRepeatable ? undefined : { etag: createHash('md5').update(bytes).digest('hex'), size };
      return this.#recording(commit, () => writer.put(file, bytes, { type, mtime: this.#mtime, ...options }));
    }
    const last = bytes.length > 0 ? [await this.#sendPart(bytes, parts.length + 1)] : [];
    const all = [...parts, ...last];
    return this.#recording({ etag: etagOfParts(all), size }, () =>
      writer.complete(file, { uploadId, parts: all, size, type: this.#record.type, mtime: this.#mtime }, options),
    );
  }

  /** Runs a commit while the record has its result, by which a repeated commit recognizes it. */
  async #recording(commit: CommittedObject | undefined, run: () => Promise<FileEntry>): Promise<FileEntry> {
    if (commit) await this.#save({ ...this.#record, commit });
    try {
      return await run();
    } catch (error) {
      // After an error of another kind, the commit might have succeeded.
      if (commit && isStoreError(error) && error.kind !== 'unavailable') {
        await this.#save({ ...this.#record, commit: undefined });
      }
      throw error;
    }
  }

  /** Returns the file if it is the result of an interrupted commit. */
  async #findCommitted({ etag, size }: CommittedObject, { signal }: Cancellable): Promise<FileEntry | undefined> {
    const present = await undefinedIfNotFound(this.#options.stat(this.#record.file, { signal }));
    return present?.etag === etag && present.size === size ? present : undefined;
  }

  async #removeObjects(): Promise<void> {
    const { bucket, erase } = this.#options;
    const { file, uploadId, directUntil } = this.#record;
    const folder = folderOfUpload(this.#id);
    if (uploadId !== undefined) {
      for (let attempt = 1; ; attempt++) {
        await abortMultipartUpload(bucket, file, uploadId).catch((error: unknown) => {
          // A commit has completed it.
          if (!isStoreError(error, 'not-found') && !isNoSuchUpload(error)) throw error;
        });
        // A part that arrives during the abort can outlast it (Amazon S3, "AbortMultipartUpload").
        if (directUntil === undefined || attempt === MAX_ABORTS || !(await this.#hasMultipartUpload({}))) break;
      }
    }
    for (const { key } of await this.#listRests({})) await deleteObject(bucket, key, { condition: {} });
    // At the end, so that an interrupted removal can be repeated.
    await deleteObject(bucket, keyOfRecord(this.#id), { condition: {} });
    await erase(folder);
  }

  /** Removes the rests that another one or a part replaces. Those that remain do no harm. */
  async #removeOutdatedRests(): Promise<void> {
    const { parts, rest, rests } = await this.load({});
    const isOutdated = (each: Rest) =>
      each.parts < parts.length || (each.parts === parts.length && each.key !== rest?.key);
    for (const { key } of rests.filter(isOutdated)) {
      await deleteObject(this.#options.bucket, key, { condition: {} }).catch((error: unknown) => this.#warn(error));
    }
  }

  /** Removes a rest if the upload has ended meanwhile, because nothing else would remove it. */
  async #removeIfEnded({ key }: Rest): Promise<void> {
    const { bucket } = this.#options;
    if (await undefinedIfNotFound(headObject(bucket, keyOfRecord(this.#id), {}))) return;
    await deleteObject(bucket, key, { condition: {} });
  }

  #warn(error: unknown): void {
    this.#options.bucket.warn('Objects of an upload could not be removed.', { upload: this.#id, err: error });
  }

  get #record(): UploadRecord {
    return this.#stored.record;
  }

  get #mtime(): Date | undefined {
    const { modified } = this.#record;
    return modified === undefined ? undefined : new Date(modified);
  }

  /** Replaces the record. Throws `upload-in-use` if another writer has replaced it. */
  async #save(record: UploadRecord): Promise<void> {
    try {
      this.#stored = await writeRecord(this.#options, this.#id, record, { etag: this.#stored.etag });
    } catch (error) {
      throw isStoreError(error, 'condition-failed') ? inUse(error) : error;
    }
  }

  #setArrived(arrived: Arrived): Arrived {
    this.#arrived = arrived;
    const { parts, rest, committed } = arrived;
    this.#offset = committed?.size ?? parts.reduce((sum, { size }) => sum + size, rest?.size ?? 0);
    return arrived;
  }

  /** Returns the parts of the multipart upload; undefined if it does not exist. */
  async #listParts({ signal }: Cancellable): Promise<readonly ListedPart[] | undefined> {
    const { file, uploadId } = this.#record;
    if (uploadId === undefined) return undefined;
    const found: ListedPart[] = [];
    try {
      for (let after = 0; ; ) {
        const { parts, isTruncated } = await listParts(this.#options.bucket, file, { uploadId, after, signal });
        found.push(...parts);
        const last = parts.at(-1)?.partNumber ?? 0;
        if (!isTruncated || last <= after) return found;
        after = last;
      }
    } catch (error) {
      if (isNoSuchUpload(error) || isStoreError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  async #hasMultipartUpload({ signal }: Cancellable): Promise<boolean> {
    const { file, uploadId } = this.#record;
    if (uploadId === undefined) return false;
    try {
      // After all possible parts, so that the response is short.
      await listParts(this.#options.bucket, file, { uploadId, after: MAX_PARTS, signal });
      return true;
    } catch (error) {
      if (isNoSuchUpload(error) || isStoreError(error, 'not-found')) return false;
      throw error;
    }
  }

  async #listRests({ signal }: Cancellable): Promise<readonly Rest[]> {
    const found: Rest[] = [];
    for (let position: ListingPosition | undefined; ; ) {
      const request = { prefix: folderOfUpload(this.#id), limit: MAX_KEYS, position, signal };
      const { objects, next } = await readPage(this.#options.bucket, request);
      for (const { key } of objects) {
        const rest = parseRest(this.#id, key);
        if (rest) found.push(rest);
      }
      if (!next) return found;
      position = next;
    }
  }
}

/** What `#sendParts` has sent, and what remains. */
interface SentContent {
  readonly parts: readonly ListedPart[];
  /** The first part, if it must not be sent yet. */
  readonly held?: Buffer;
  /** The bytes that don't fill a part. */
  readonly last?: Buffer;
  /** Why the body ended early. */
  readonly failure?: { readonly reason: unknown };
}

/** Maximum stray parts that are replaced in parallel. */
const STRAY_CONCURRENCY = 8;

/** Maximum attempts to abort a multipart upload. */
const MAX_ABORTS = 3;

/** Seconds by which the clock of the bucket can be behind, so that presigned requests arrive later. */
const CLOCK_MARGIN_SECONDS = 60;

/** Maximum bytes of a rest that is read at once. */
const MAX_BUFFERED_BYTES = 64 * 2 ** 10;

/** An ID of letters, digits and `-`, which is also a valid part of a key. */
const ID = /^[\dA-Za-z-]{1,64}$/;

function requireId(id: string): void {
  if (!ID.test(id)) throw uploadNotFound(id);
}

async function writeRecord(
  { writeOwn }: Pick<BucketUploadsOptions, 'writeOwn'>,
  id: string,
  record: UploadRecord,
  condition: WriteCondition,
): Promise<StoredRecord> {
  const bytes = formatUploadRecord(record);
  const upload = { body: Readable.from([bytes]), size: bytes.length, type: 'application/json' };
  const { etag } = await writeOwn(keyOfRecord(id) as FilePath, upload, { condition });
  return { record, etag };
}

/** Returns which parts count, and which of the others have the planned size. */
function countParts(parts: readonly ListedPart[], record: UploadRecord): Pick<Arrived, 'parts' | 'strays'> {
  const whole = parts
    .filter(({ partNumber, size }) => size === sizeOfPart(record, partNumber))
    .toSorted((left, right) => left.partNumber - right.partNumber);
  const missing = whole.findIndex(({ partNumber }, index) => partNumber !== index + 1);
  const count = missing === -1 ? whole.length : missing;
  return { parts: whole.slice(0, count), strays: whole.slice(count) };
}

/** Returns the longest rest after a number of parts. */
function restAfter(rests: readonly Rest[], parts: number): Rest | undefined {
  return rests.filter((rest) => rest.parts === parts).toSorted((left, right) => right.size - left.size)[0];
}

function isSameParts(left: readonly ListedPart[], right: readonly ListedPart[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ partNumber, etag }, index) => {
      const other = right[index];
      return other?.partNumber === partNumber && other.etag === etag;
    })
  );
}

async function* yieldAll<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}

function noSuchPart(number: number, size: number, partSize: number): never {
  const message = `The upload has no part ${number}: it has ${size} bytes in parts of ${partSize}.`;
  throw new StoreError('invalid-request', message);
}

function uploadNotFound(id: string, cause?: unknown): StoreError {
  return new StoreError('not-found', `The upload ${quoted(id)} does not exist.`, { cause });
}

function partsMayArrive(retryAfter: number): StoreError {
  const message = `Parts with valid URLs can still arrive. Send the bytes without a checksum, or in ${retryAfter} seconds.`;
  return new StoreError('upload-in-use', message, { retryAfter });
}

function inUse(cause?: unknown): StoreError {
  return new StoreError('upload-in-use', 'Another request continues this upload.', { retryAfter: 1, cause });
}
