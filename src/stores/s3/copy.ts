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
import { ifThere, isStoreError, StoreError } from '../../domain/error.ts';
import type { FilePath } from '../../domain/path.ts';
import { changedMeanwhile, presentAgainstCondition } from '../../domain/problems.ts';
import type { Cancellable } from '../../domain/store.ts';
import type { SendOptions } from './asking.ts';
import { attributesOf, isMadeOf } from './attributes.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, sendConditionally } from './conditions.ts';
import { escapePath, type Key, quote, unquote } from './keys.ts';
import { type Attributes, uploadParts } from './multipart.ts';
import { planParts, rangesOf } from './parts.ts';
import type { Remover } from './remove.ts';
import { LONG } from './time-outs.ts';
import { codeOf, wasSentBefore } from './translate.ts';

/** The object to copy, as it was seen: no other version of it is copied, where the store looks at that. */
export interface Source {
  readonly key: Key;
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
}

export interface Copier {
  /**
   * Copies an object, type and metadata included, and gives the etag of the copy. With `exclusive` nothing is
   * replaced, not even what arrives meanwhile (`condition-failed`). `condition-failed` as well where the source is
   * another version by now; `not-found` without a source.
   */
  copy(source: Source, to: Key, options: { exclusive: boolean } & Cancellable): Promise<string>;
  /**
   * As `copy`, in one request where that can be: for the many objects of a folder. With `exclusive`, it depends on the
   * store whether it minds what arrives at the destination meanwhile.
   */
  copyQuickly(source: Source, to: Key, options: { exclusive: boolean } & Cancellable): Promise<string>;
  /** The object as it is now, if there is one. */
  find(key: Key, options: Cancellable): Promise<Source | undefined>;
  /** Whether the object at `key` was made here as a copy of an object with this etag. */
  isCopyOf(key: Key, etag: string, options: Cancellable): Promise<boolean>;
}

/** Bytes up to which a store copies in one request (Amazon S3 and R2: 5 GB). */
const COPY_LIMIT = 5 * 2 ** 30;

/** Bytes of a part that is copied: few enough that each is done in seconds. More where 10,000 of them would not suffice. */
const COPY_PART = 2 ** 29;
const PARTS_AT_ONCE = 4;

/** Bytes up to which an exclusive copy goes through the service: fewer than the least part of an upload. */
const THROUGH_LIMIT = 5 * 2 ** 20;

export function createCopier(bucket: Bucket, removeObject: Remover['removeObject'], copyLimit = COPY_LIMIT): Copier {
  const { abilities } = bucket;
  /** Whether a copy in one request was always found with the etag of its source. */
  let copiesKeepEtags = true;

  const describe = (key: Key, { signal }: Cancellable): Promise<HeadObjectCommandOutput> =>
    bucket.ask({ key, signal }, (options) =>
      bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key }), options),
    );

  const lookAt = (key: Key, options: Cancellable): Promise<HeadObjectCommandOutput | undefined> =>
    ifThere(describe(key, options));

  const copySourceOf = ({ key }: Source) => `${encodeURIComponent(bucket.name)}/${escapePath(key)}`;

  /** Whether a copy of the object will have its etag, as far as is known. */
  const keepsEtag = ({ etag }: Source) => copiesKeepEtags && !etag.includes('-');

  /** What the source has beside its bytes. Older stores pass over a condition on it, so it is looked at here as well. */
  const describeSource = async (source: Source, options: Cancellable): Promise<HeadObjectCommandOutput> => {
    const described = await describe(source.key, options);
    if (unquote(described.ETag) !== source.etag) throw changedMeanwhile(source.key as FilePath);
    return described;
  };

  /**
   * Sends a copy of the source in this version. A copy that was begun is not cancelled: the store would continue it, and
   * create an object, or a part, after the caller has cleaned up.
   *
   * Some stores return 412 for large objects though the condition on the source holds. Then, and where the store does not
   * support the condition, the source is looked at right before a copy without it. What is written to the source in
   * between is copied in its new version, which callers notice by the etag of the copy.
   */
  const begin = async <Output>(
    source: Source,
    { signal, isConditional }: Cancellable & { isConditional: boolean },
    send: (options: SendOptions, sourceIfMatch: string | undefined) => Promise<Output>,
  ): Promise<Output> => {
    signal?.throwIfAborted();
    const sendWith = (ifMatch: string | undefined) =>
      bucket.ask({ key: source.key, timeout: LONG }, (options) => send(options, ifMatch));
    let refusal: StoreError | undefined;
    if (abilities.has('sourceConditions')) {
      try {
        return await sendWith(quote(source.etag));
      } catch (error) {
        const isUnsupported = !isConditional && isStoreError(error, 'unsupported');
        if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
        refusal = error;
      }
    }
    const present = await lookAt(source.key, { signal });
    if (unquote(present?.ETag) !== source.etag) throw refusal ?? changedMeanwhile(source.key as FilePath);
    const output = await sendWith(undefined).catch((error: unknown) => {
      // It was not the condition on the source that failed.
      throw refusal && isStoreError(error, refusal.kind) ? refusal : error;
    });
    abilities.lose('sourceConditions', { code: codeOf(refusal?.cause) });
    return output;
  };

  /**
   * The etag of a copy that was made although its request failed: its answer was lost, and what it made was in its own
   * way when it was sent again. Throws `error` where that is not so.
   */
  const findDone = async (error: unknown, source: Source, to: Key): Promise<string> => {
    const mayBeDone = isStoreError(error, 'condition-failed') && wasSentBefore(error.cause);
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

  /** With attributes of its own instead of those of the source. */
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

  const copyInOneRequest = async (source: Source, to: Key, { exclusive, signal }: Options): Promise<string> => {
    const isKept = keepsEtag(source);
    const isConditional = exclusive && abilities.has('copyConditions');
    const send = isKept
      ? copyAsItIs(source, to, isConditional)
      : copyAnew(source, to, isConditional, attributesOf(await describeSource(source, { signal }), source.etag));
    try {
      const told = unquote(await begin(source, { signal, isConditional }, send));
      const etag = told === '' ? await etagOfCopy(source, to, { isKept }) : told;
      // Older stores pass over the condition on the source: the copy must not say that it is of another version.
      if (!isKept) await requireUnchanged(source, to, { etag, isNew: exclusive });
      return etag;
    } catch (error) {
      if (!isConditional || !(await isUnsupported(error, source, to))) return findDone(error, source, to);
      abilities.lose('copyConditions', { code: codeOf(error instanceof Error ? error.cause : undefined) });
      return copyInOneRequest(source, to, { exclusive, signal });
    }
  };

  /** Whether the store refused a conditional copy though its conditions hold: nothing is at `to`, and the source is as seen. */
  const isUnsupported = async (refusal: unknown, source: Source, to: Key): Promise<boolean> => {
    if (!isStoreError(refusal, 'condition-failed')) return isStoreError(refusal, 'unsupported');
    const [present, current] = await Promise.all([lookAt(to, {}), lookAt(source.key, {})]);
    return present === undefined && unquote(current?.ETag) === source.etag;
  };

  /**
   * The etag of a copy that the response does not tell. Throws where nothing was copied: a store that ignores
   * `x-amz-copy-source` takes the request for an empty PutObject, and returns 200.
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
    // Either the source is another version by now, or this store gives an encrypted object an etag of its own: then
    // what a copy was made of is kept with it from now on.
    await requireUnchanged(source, to, { etag, isNew: options.exclusive });
    copiesKeepEtags = false;
    try {
      return await copyInOneRequest(source, to, { ...options, exclusive: false });
    } catch (error) {
      if (options.exclusive) await takeBack(to, etag);
      throw error;
    }
  };

  /** Throws unless the source is still what was copied; a copy that is new then goes, since nobody would know it. */
  const requireUnchanged = async (source: Source, to: Key, { etag, isNew }: { etag: string; isNew: boolean }) => {
    try {
      await describeSource(source, {});
    } catch (error) {
      if (isNew) await takeBack(to, etag);
      throw error;
    }
  };

  /** Removes the copy with this etag, and nothing that somebody else put there meanwhile. */
  const takeBack = async (key: Key, etag: string): Promise<void> => {
    const present = await lookAt(key, {});
    if (unquote(present?.ETag) === etag) await removeObject(key, { ifMatch: etag });
  };

  /** Copies an object in parts, which the store copies by itself if it can. */
  const copyByParts = async (source: Source, to: Key, options: Options): Promise<string> => {
    let refusal: StoreError | undefined;
    if (abilities.has('partCopies')) {
      const partSize = Math.min(planParts(source.size, COPY_PART).partSize, copyLimit);
      try {
        return await makeOfParts(source, to, options, { partSize, inFlight: PARTS_AT_ONCE, send: copyPart });
      } catch (error) {
        if (!isStoreError(error, 'unsupported')) throw error;
        refusal = error;
      }
    }
    const etag = await copyWithoutParts(source, to, options);
    abilities.lose('partCopies', { code: codeOf(refusal?.cause) });
    return etag;
  };

  /** As `copyByParts`, without UploadPartCopy: in one request up to the limit for that, else through the service. */
  const copyWithoutParts = async (source: Source, to: Key, options: Options): Promise<string> => {
    const { exclusive, signal } = options;
    if (exclusive && (await lookAt(to, { signal }))) throw presentAgainstCondition(to as FilePath);
    if (source.size <= copyLimit) return copyAtOnce(source, to, options);
    return makeOfParts(source, to, options, { ...planParts(source.size), send: sendPart });
  };

  const copyPart: SendPart = async (range, { source, to, place, signal }) => {
    const output = await begin(source, { signal, isConditional: false }, (options, CopySourceIfMatch) => {
      const from = { CopySource: copySourceOf(source), CopySourceIfMatch, CopySourceRange: range };
      const command = new UploadPartCopyCommand({ Bucket: bucket.name, Key: to, ...from, ...place });
      return bucket.client.send(command, options);
    });
    // A store that ignores the copy source takes the request for an UploadPart of no bytes, and tells its etag elsewhere.
    if (!output.CopyPartResult?.ETag) throw copiedNothing();
    return output.CopyPartResult.ETag;
  };

  const sendPart: SendPart = async (range, { source, to, place, signal }) => {
    const Body = await buffer(await open(source, { Range: range }, { signal }).then(({ body }) => body));
    const command = new UploadPartCommand({ Bucket: bucket.name, Key: to, Body, ContentLength: Body.length, ...place });
    const { ETag } = await bucket.ask({ key: to, signal, timeout: LONG }, (options) =>
      bucket.client.send(command, options),
    );
    return ETag;
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
        // All parts are of one version.
        await describeSource(source, { signal });
        // Older stores pass over a condition on the completion, so it is looked at just before as well.
        if (exclusive && (await lookAt(to, { signal }))) throw presentAgainstCondition(to as FilePath);
      },
    });
    return unquote(etag);
  };

  /** Opens the source in this version, or a range of it. */
  const open = async (source: Source, options: { Range?: string }, { signal }: Cancellable) => {
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: source.key, IfMatch: quote(source.etag), ...options });
    const { Body: body, ...described } = await bucket.ask({ key: source.key, signal }, (sending) =>
      bucket.client.send(get, sending),
    );
    if (!(body instanceof Readable)) throw new Error('The client for S3 gave no stream.');
    return { body, described };
  };

  /** Reads the source and writes it: conditions on PutObject are those that most stores support. */
  const copyThrough = async (source: Source, to: Key, { signal }: Cancellable): Promise<string> => {
    const { body, described } = await open(source, {}, { signal });
    const object = {
      Bucket: bucket.name,
      Key: to,
      Body: await bucket.ask({ key: source.key, signal }, () => buffer(body)),
      ...attributesOf(described, keepsEtag(source) ? undefined : source.etag),
    };
    const put = async (condition: ConditionHeaders) => {
      try {
        const { ETag } = await bucket.ask({ key: to, signal, timeout: LONG }, (options) =>
          bucket.client.send(new PutObjectCommand({ ...object, ...condition }), options),
        );
        return unquote(ETag);
      } catch (error) {
        return findDone(error, source, to);
      }
    };
    const check = async () => {
      if (await lookAt(to, { signal })) throw presentAgainstCondition(to as FilePath);
    };
    return sendConditionally(bucket, 'putConditions', { IfNoneMatch: '*' }, { check, send: put });
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

/** Gives a range of the source its place in an upload in parts, and returns the etag of the part. */
type SendPart = (
  range: string,
  part: { source: Source; to: Key; place: { UploadId: string; PartNumber: number } } & Cancellable,
) => Promise<string | undefined>;

function copiedNothing(): StoreError {
  const message = 'The object store returned success for a copy, and copied nothing. Run "holdall doctor" to test it.';
  return new StoreError('unsupported', message);
}
