import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  CopyObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { isStoreError, StoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable } from '../../model/store.ts';
import { preconditionFailed, versionReplaced } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './conditions.ts';
import { LONG_TIMEOUT_MS, type SendOptions } from './connection.ts';
import { codeOf, noStore, partMismatch, requireStored, wasRetried } from './errors.ts';
import { escapePath, type Key, quote, unquote } from './keys.ts';
import { type Attributes, attributesOf, isMadeOf, planParts, rangesOf, uploadParts } from './multipart.ts';
import type { Remover } from './remove.ts';

/** The version of an object to copy. Stores that support conditions on copy sources copy no other version. */
export interface Source {
  readonly key: Key;
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
}

export interface Copier {
  /**
   * Copies an object with its media type and metadata, and returns the ETag of the copy. With `exclusive`, the copy
   * replaces no object, not even one that arrives during the copy.
   *
   * @throws condition-failed if the source has changed, or if the destination exists and `exclusive` is set
   * @throws not-found if the source does not exist
   */
  copy(source: Source, to: Key, options: { exclusive: boolean } & Cancellable): Promise<string>;
  /**
   * Copies an object like `copy`, in one request if possible. Used for the many objects of a folder. With `exclusive`,
   * the copy may replace an object that arrives meanwhile if the store does not support If-None-Match.
   */
  copyQuickly(source: Source, to: Key, options: { exclusive: boolean } & Cancellable): Promise<string>;
  /** Returns the current version of the object, or undefined if it does not exist. */
  find(key: Key, options: Cancellable): Promise<Source | undefined>;
  /** Returns whether Holdall created the object at `key` as a copy of an object with this ETag. */
  isCopyOf(key: Key, etag: string, options: Cancellable): Promise<boolean>;
}

/** Maximum bytes that a store copies in one request (Amazon S3 and R2: 5 GB). */
const COPY_LIMIT = 5 * 2 ** 30;

/** Bytes per copied part, so that each takes seconds. Parts are larger if 10,000 parts would not suffice. */
const COPY_PART = 2 ** 29;
const PARTS_AT_ONCE = 4;

/** Holdall reads and writes exclusive copies below this many bytes (the minimum part size of an upload). */
const THROUGH_LIMIT = 5 * 2 ** 20;

export function createCopier(bucket: Bucket, removeObject: Remover['removeObject'], copyLimit = COPY_LIMIT): Copier {
  const { abilities } = bucket;
  /** Whether every copy in one request has kept the ETag of its source so far. */
  let copiesKeepEtags = true;

  const describe = async (key: Key, { signal }: Cancellable): Promise<HeadObjectCommandOutput> => {
    const described = await bucket.ask({ key, signal }, (options) =>
      bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key }), options),
    );
    requireStored(described.ETag, bucket.endpoint);
    return described;
  };

  const lookAt = (key: Key, options: Cancellable): Promise<HeadObjectCommandOutput | undefined> =>
    undefinedIfNotFound(describe(key, options));

  const copySourceOf = ({ key }: Source) => `${encodeURIComponent(bucket.name)}/${escapePath(key)}`;

  /** Returns whether a copy is expected to keep the ETag of the source. */
  const keepsEtag = ({ etag }: Source) => copiesKeepEtags && !etag.includes('-');

  /** Returns the headers of the source. Also checks its ETag, because older stores ignore conditions on the source. */
  const describeSource = async (source: Source, options: Cancellable): Promise<HeadObjectCommandOutput> => {
    const described = await describe(source.key, options);
    if (unquote(described.ETag) !== source.etag) throw versionReplaced(source.key as FilePath);
    return described;
  };

  /**
   * Sends a copy request for this version of the source. Does not abort a running copy: the store would continue it
   * and create an object or a part after the caller has cleaned up.
   *
   * Some stores return 412 for large objects although the condition on the source holds. In this case, or if the store
   * does not support the condition, Holdall checks the source and then copies it unconditionally. If the source changes
   * in between, the store copies the new version. Callers detect that by the ETag of the copy.
   */
  const begin = async <Output>(
    source: Source,
    { signal, isConditional }: Cancellable & { isConditional: boolean },
    send: (options: SendOptions, sourceIfMatch: string | undefined) => Promise<Output>,
  ): Promise<Output> => {
    signal?.throwIfAborted();
    const sendWith = (ifMatch: string | undefined) =>
      bucket.ask({ key: source.key, timeout: LONG_TIMEOUT_MS }, (options) => send(options, ifMatch));
    const ability = source.etag.includes('-') ? 'sourceConditionsOnParts' : 'sourceConditions';
    let refusal: StoreError | undefined;
    if (abilities.has(ability)) {
      try {
        const output = await sendWith(quote(source.etag));
        abilities.confirm(ability);
        return output;
      } catch (error) {
        const isUnsupported = !isConditional && isStoreError(error, 'unsupported');
        if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
        refusal = error;
      }
    }
    const present = await lookAt(source.key, { signal });
    if (unquote(present?.ETag) !== source.etag) throw refusal ?? versionReplaced(source.key as FilePath);
    const output = await sendWith(undefined).catch((error: unknown) => {
      // Without the condition on the source, the request fails in the same way: another condition failed.
      throw refusal && isStoreError(error, refusal.kind) ? refusal : error;
    });
    abilities.lose(ability, { code: codeOf(refusal?.cause) });
    return output;
  };

  /**
   * Returns the ETag of a copy that succeeded although its request failed. This happens when the response is lost and
   * the retry finds the copy of the first attempt. Otherwise throws `error`.
   */
  const findDone = async (error: unknown, source: Source, to: Key): Promise<string> => {
    const mayBeDone = isStoreError(error, 'condition-failed') && wasRetried(error.cause);
    const present = mayBeDone ? await lookAt(to, {}) : undefined;
    const isSame = present?.ContentLength === source.size && isMadeOf(present, source.etag);
    if (!present || !isSame) throw error;
    return unquote(present.ETag);
  };

  const copyAsItIs =
    (source: Source, to: Key, isConditional: boolean) => (options: SendOptions, sourceIfMatch: string | undefined) =>
      bucket.objects.copy(
        to,
        { source: copySourceOf(source), sourceIfMatch, ifNoneMatch: isConditional ? '*' : undefined },
        options,
      );

  /** Copies the object with `attributes` instead of those of the source. */
  const copyAnew =
    (source: Source, to: Key, isConditional: boolean, attributes: Attributes) =>
    async (options: SendOptions, sourceIfMatch: string | undefined) => {
      const command = new CopyObjectCommand({
        Bucket: bucket.name,
        Key: to,
        CopySource: copySourceOf(source),
        CopySourceIfMatch: sourceIfMatch,
        MetadataDirective: 'REPLACE',
        ...attributes,
        ...(isConditional && { IfNoneMatch: '*' }),
      });
      return (await bucket.client.send(command, options)).CopyObjectResult?.ETag;
    };

  const copyInOneRequest = async (
    source: Source,
    to: Key,
    { exclusive, signal }: Options,
    attempt = 1,
  ): Promise<string> => {
    const isKept = keepsEtag(source);
    const isConditional = exclusive && abilities.has('copyConditions');
    const send = isKept
      ? copyAsItIs(source, to, isConditional)
      : copyAnew(source, to, isConditional, attributesOf(await describeSource(source, { signal }), source.etag));
    try {
      const told = unquote(await begin(source, { signal, isConditional }, send));
      if (isConditional) abilities.confirm('copyConditions');
      const etag = told === '' ? await etagOfCopy(source, to, { isKept }) : told;
      // Older stores ignore the condition on the source. The metadata of the copy must not name a different version.
      if (!isKept) await requireUnchanged(source, to, { etag, isNew: exclusive });
      return etag;
    } catch (error) {
      const isDoubtful = isConditional && !abilities.isConfirmed('copyConditions');
      if (!isDoubtful || !(await isUnsupported(error, source, to))) return findDone(error, source, to);
      // The first such response may have another reason: an object that existed briefly, or a failing proxy.
      if (attempt > 1)
        abilities.lose('copyConditions', { code: codeOf(error instanceof Error ? error.cause : undefined) });
      return copyInOneRequest(source, to, { exclusive, signal }, attempt + 1);
    }
  };

  /** Returns whether the store rejected a conditional copy although `to` does not exist and the source is unchanged. */
  const isUnsupported = async (refusal: unknown, source: Source, to: Key): Promise<boolean> => {
    if (!isStoreError(refusal, 'condition-failed')) return isStoreError(refusal, 'unsupported');
    const [present, current] = await Promise.all([lookAt(to, {}), lookAt(source.key, {})]);
    return present === undefined && unquote(current?.ETag) === source.etag;
  };

  /**
   * Returns the ETag of a copy if the response contains none. Throws if the store copied nothing: a store that ignores
   * `x-amz-copy-source` treats the request as an empty PutObject and returns 200.
   */
  const etagOfCopy = async (source: Source, to: Key, { isKept }: { isKept: boolean }): Promise<string> => {
    const described = await lookAt(to, {});
    const isCopy = described?.ContentLength === source.size && (isKept || isMadeOf(described, source.etag));
    if (!described || !isCopy) throw copiedNothing();
    return unquote(described.ETag);
  };

  const copyAtOnce = async (source: Source, to: Key, options: Options): Promise<string> => {
    const isKept = keepsEtag(source);
    const etag = await copyInOneRequest(source, to, options);
    if (!isKept || etag === source.etag) return etag;
    // Either the source has changed, or this store assigns new ETags to encrypted objects. In the second case, copies
    // store the ETag of their source as metadata from now on.
    await requireUnchanged(source, to, { etag, isNew: options.exclusive });
    copiesKeepEtags = false;
    try {
      return await copyInOneRequest(source, to, { ...options, exclusive: false });
    } catch (error) {
      if (options.exclusive) await takeBack(to, etag);
      throw error;
    }
  };

  /** Throws if the source has changed since the copy. Then first removes a new copy, which would be orphaned. */
  const requireUnchanged = async (source: Source, to: Key, { etag, isNew }: { etag: string; isNew: boolean }) => {
    try {
      await describeSource(source, {});
    } catch (error) {
      if (isNew) await takeBack(to, etag);
      throw error;
    }
  };

  /** Removes the copy with this ETag. Keeps an object that another client has written there meanwhile. */
  const takeBack = async (key: Key, etag: string): Promise<void> => {
    const present = await lookAt(key, {});
    if (unquote(present?.ETag) === etag) await removeObject(key, { ifMatch: etag });
  };

  /** Copies an object in parts, inside the store if it supports UploadPartCopy. */
  const copyByParts = async (source: Source, to: Key, options: Options): Promise<string> => {
    let refusal: StoreError | undefined;
    if (abilities.has('partCopies')) {
      const partSize = Math.min(planParts(source.size, COPY_PART).partSize, copyLimit);
      try {
        const etag = await makeOfParts(source, to, options, { partSize, inFlight: PARTS_AT_ONCE, send: copyPart });
        abilities.confirm('partCopies');
        return etag;
      } catch (error) {
        if (!isStoreError(error, 'unsupported')) throw error;
        refusal = error;
      }
    }
    const etag = await copyWithoutParts(source, to, options);
    abilities.lose('partCopies', { code: codeOf(refusal?.cause) });
    return etag;
  };

  /** Copies an object in one request up to `copyLimit`. Otherwise, Holdall reads and writes it in parts. */
  const copyWithoutParts = async (source: Source, to: Key, options: Options): Promise<string> => {
    const { exclusive, signal } = options;
    if (exclusive && (await lookAt(to, { signal }))) throw preconditionFailed(to as FilePath);
    if (source.size <= copyLimit) return copyAtOnce(source, to, options);
    return makeOfParts(source, to, options, { ...planParts(source.size), send: sendPart });
  };

  const copyPart: SendPart = async (range, { source, to, place, signal }) => {
    const output = await begin(source, { signal, isConditional: false }, (options, CopySourceIfMatch) => {
      const from = { CopySource: copySourceOf(source), CopySourceIfMatch, CopySourceRange: range };
      const command = new UploadPartCopyCommand({ Bucket: bucket.name, Key: to, ...from, ...place });
      return bucket.client.send(command, options);
    });
    // A store that ignores the copy source treats the request as an empty UploadPart, with the ETag in a header.
    if (!output.CopyPartResult?.ETag) throw copiedNothing();
    return output.CopyPartResult.ETag;
  };

  const sendPart: SendPart = async (range, { source, to, place, signal }) => {
    const { bytes: Body } = await readSource(source, range, { signal });
    const command = new UploadPartCommand({ Bucket: bucket.name, Key: to, Body, ContentLength: Body.length, ...place });
    const { ETag } = await bucket.ask({ key: to, signal, timeout: LONG_TIMEOUT_MS }, (options) =>
      bucket.client.send(command, options),
    );
    return requireStored(ETag, bucket.endpoint);
  };

  const makeOfParts = async (
    source: Source,
    to: Key,
    { exclusive, signal }: Options,
    { partSize, inFlight, send }: { partSize: number; inFlight: number; send: SendPart },
  ): Promise<string> => {
    const attributes = attributesOf(await describeSource(source, { signal }), source.etag);
    const etag = await uploadParts(bucket, to, {
      attributes,
      parts: Readable.from(rangesOf(source.size, partSize)),
      inFlight,
      condition: exclusive ? { IfNoneMatch: '*' } : {},
      signal,
      send: (range: string, place) => send(range, { source, to, place, signal }),
      async verify() {
        // Ensures that all parts come from the same version.
        await describeSource(source, { signal });
        // Older stores ignore conditions on the completion, so check the destination right before it.
        if (exclusive && (await lookAt(to, { signal }))) throw preconditionFailed(to as FilePath);
      },
    });
    return unquote(etag);
  };

  /**
   * Reads this version of the source, or a range of it, and verifies the response. The store may ignore conditions or
   * ranges, and a proxy may respond with its own page. A move deletes the source, so only the wrong bytes would remain.
   */
  const readSource = async (source: Source, range: string | undefined, { signal }: Cancellable) => {
    const get = new GetObjectCommand({
      Bucket: bucket.name,
      Key: source.key,
      IfMatch: quote(source.etag),
      ...(range !== undefined && { Range: range }),
    });
    const { Body: body, ...described } = await bucket.ask({ key: source.key, signal }, (options) =>
      bucket.client.send(get, options),
    );
    if (!(body instanceof Readable)) throw new Error('The client for S3 gave no stream.');
    const bytes = await bucket.ask({ key: source.key, signal }, () => buffer(body));
    const etag = unquote(requireStored(described.ETag, bucket.endpoint));
    if (etag !== source.etag) throw versionReplaced(source.key as FilePath);
    const expected = range === undefined ? undefined : `${range.replace('=', ' ')}/${source.size}`;
    if (described.ContentRange !== expected) throw partMismatch(bucket.endpoint);
    if (range === undefined && bytes.length !== source.size) throw noStore(bucket.endpoint);
    return { bytes, described };
  };

  /** Reads and writes the source, because most stores support conditions on PutObject. */
  const copyThrough = async (source: Source, to: Key, { signal }: Cancellable): Promise<string> => {
    const { bytes, described } = await readSource(source, undefined, { signal });
    const object = {
      Bucket: bucket.name,
      Key: to,
      Body: bytes,
      ...attributesOf(described, keepsEtag(source) ? undefined : source.etag),
    };
    const put = async (condition: ConditionHeaders) => {
      try {
        const { ETag } = await bucket.ask({ key: to, signal, timeout: LONG_TIMEOUT_MS }, (options) =>
          bucket.client.send(new PutObjectCommand({ ...object, ...condition }), options),
        );
        return unquote(requireStored(ETag, bucket.endpoint));
      } catch (error) {
        return findDone(error, source, to);
      }
    };
    const check = async () => {
      if (await lookAt(to, { signal })) throw preconditionFailed(to as FilePath);
    };
    return sendConditionally(bucket, 'putIfNoneMatch', { IfNoneMatch: '*' }, { check, send: put });
  };

  return {
    copy(source, to, options) {
      if (!options.exclusive || source.size >= THROUGH_LIMIT) {
        const isOneRequest = !options.exclusive && source.size <= copyLimit;
        return isOneRequest ? copyAtOnce(source, to, options) : copyByParts(source, to, options);
      }
      return copyThrough(source, to, options);
    },

    copyQuickly: (source, to, options) =>
      source.size <= copyLimit ? copyAtOnce(source, to, options) : copyByParts(source, to, options),

    async find(key, options) {
      const described = await lookAt(key, options);
      return described && { key, size: described.ContentLength ?? 0, etag: unquote(described.ETag) };
    },

    async isCopyOf(key, etag, options) {
      const described = await lookAt(key, options);
      return described !== undefined && isMadeOf(described, etag);
    },
  };
}

type Options = { readonly exclusive: boolean } & Cancellable;

/** Uploads a range of the source as a part of a multipart upload. Returns the ETag of the part. */
type SendPart = (
  range: string,
  part: { source: Source; to: Key; place: { UploadId: string; PartNumber: number } } & Cancellable,
) => Promise<string | undefined>;

function copiedNothing(): StoreError {
  const message = 'The object store returned success for a copy, and copied nothing. Run "holdall doctor" to test it.';
  return new StoreError('store-inconsistent', message);
}
