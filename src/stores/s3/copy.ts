import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  CopyObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { ifThere, isStoreError } from '../../domain/error.ts';
import type { FilePath } from '../../domain/path.ts';
import { changedMeanwhile, presentAgainstCondition } from '../../domain/problems.ts';
import type { Cancellable } from '../../domain/store.ts';
import type { SendOptions } from './asking.ts';
import { attributesOf, isMadeOf } from './attributes.ts';
import type { Bucket } from './bucket.ts';
import { escapePath, type Key, quote, unquote } from './keys.ts';
import { type Attributes, uploadParts } from './multipart.ts';
import { planParts, rangesOf } from './parts.ts';
import type { Remover } from './remove.ts';
import { LONG } from './time-outs.ts';
import { wasSentBefore } from './translate.ts';

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
  // What this store turned out to do: the next request is spared what was refused.
  let copiesKeepEtags = true;
  let copiesTakeConditions = true;

  const describe = (key: Key, { signal }: Cancellable): Promise<HeadObjectCommandOutput> =>
    bucket.ask({ key, signal }, (options) =>
      bucket.client.send(new HeadObjectCommand({ Bucket: bucket.name, Key: key }), options),
    );

  const lookAt = (key: Key, options: Cancellable): Promise<HeadObjectCommandOutput | undefined> =>
    ifThere(describe(key, options));

  const sourceOf = ({ key, etag }: Source) => ({
    CopySource: `${encodeURIComponent(bucket.name)}/${escapePath(key)}`,
    CopySourceIfMatch: quote(etag),
  });

  /** Whether a copy of the object will have its etag, as far as is known. */
  const keepsEtag = ({ etag }: Source) => copiesKeepEtags && !etag.includes('-');

  /** What the source has beside its bytes. Older stores pass over a condition on it, so it is looked at here as well. */
  const describeSource = async (source: Source, options: Cancellable): Promise<HeadObjectCommandOutput> => {
    const described = await describe(source.key, options);
    if (unquote(described.ETag) !== source.etag) throw changedMeanwhile(source.key as FilePath);
    return described;
  };

  /**
   * A copy that was begun is waited for: the store would go on with it after its caller has left, and an object, or a
   * part, would come about behind the back of whoever clears up.
   */
  const begin = <Output>(
    { key }: Source,
    signal: AbortSignal | undefined,
    send: (options: SendOptions) => Promise<Output>,
  ) => {
    signal?.throwIfAborted();
    return bucket.ask({ key, timeout: LONG }, send);
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

  const copyAsItIs = (source: Source, to: Key, isConditional: boolean) => (options: SendOptions) => {
    const { CopySource, CopySourceIfMatch } = sourceOf(source);
    const ifNoneMatch = isConditional ? '*' : undefined;
    return bucket.objects.copy(to, { source: CopySource, sourceIfMatch: CopySourceIfMatch, ifNoneMatch }, options);
  };

  /** With attributes of its own in the place of those that the source has. */
  const copyAnew =
    (source: Source, to: Key, isConditional: boolean, attributes: Attributes) => async (options: SendOptions) => {
      const command = new CopyObjectCommand({
        Bucket: bucket.name,
        Key: to,
        ...sourceOf(source),
        MetadataDirective: 'REPLACE',
        ...attributes,
        ...(isConditional && { IfNoneMatch: '*' }),
      });
      return (await bucket.client.send(command, options)).CopyObjectResult?.ETag;
    };

  const copyInOneRequest = async (source: Source, to: Key, { exclusive, signal }: Options): Promise<string> => {
    const isKept = keepsEtag(source);
    const isConditional = exclusive && copiesTakeConditions;
    const send = isKept
      ? copyAsItIs(source, to, isConditional)
      : copyAnew(source, to, isConditional, attributesOf(await describeSource(source, { signal }), source.etag));
    try {
      const etag = unquote(await begin(source, signal, send)) || unquote((await describe(to, {})).ETag);
      // Older stores pass over the condition on the source: the copy must not say that it is of another version.
      if (!isKept) await requireUnchanged(source, to, { etag, isNew: exclusive });
      return etag;
    } catch (error) {
      if (!isConditional || !isStoreError(error, 'unsupported')) return findDone(error, source, to);
      copiesTakeConditions = false;
      return copyInOneRequest(source, to, { exclusive, signal });
    }
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

  const copyByParts = async (source: Source, to: Key, { exclusive, signal }: Options): Promise<string> => {
    const attributes = attributesOf(await describeSource(source, { signal }), source.etag);
    const etag = await uploadParts(bucket, to, {
      attributes,
      parts: Readable.from(rangesOf(source.size, Math.min(planParts(source.size, COPY_PART).partSize, copyLimit))),
      inFlight: PARTS_AT_ONCE,
      condition: exclusive ? { IfNoneMatch: '*' } : {},
      signal,
      async send(range: string, place) {
        const command = new UploadPartCopyCommand({
          Bucket: bucket.name,
          Key: to,
          ...sourceOf(source),
          CopySourceRange: range,
          ...place,
        });
        const output = await begin(source, signal, (options) => bucket.client.send(command, options));
        return output.CopyPartResult?.ETag;
      },
      async verify() {
        // All parts are of one version.
        await describeSource(source, { signal });
        // Older stores pass over a condition on the completion, so it is looked at just before as well.
        if (exclusive && (await lookAt(to, { signal }))) throw presentAgainstCondition(to as FilePath);
      },
    });
    return unquote(etag);
  };

  /** The bytes go through the service: the one way to put them where nothing is that all stores take care of. */
  const copyThrough = async (source: Source, to: Key, { signal }: Cancellable): Promise<string> => {
    const get = new GetObjectCommand({ Bucket: bucket.name, Key: source.key, IfMatch: quote(source.etag) });
    const { Body: body, ...described } = await bucket.ask({ key: source.key, signal }, (options) =>
      bucket.client.send(get, options),
    );
    if (!(body instanceof Readable)) throw new Error('The client for S3 gave no stream.');
    const put = new PutObjectCommand({
      Bucket: bucket.name,
      Key: to,
      Body: await bucket.ask({ key: source.key, signal }, () => buffer(body)),
      IfNoneMatch: '*',
      ...attributesOf(described, keepsEtag(source) ? undefined : source.etag),
    });
    try {
      const { ETag } = await bucket.ask({ key: to, signal, timeout: LONG }, (options) =>
        bucket.client.send(put, options),
      );
      return unquote(ETag);
    } catch (error) {
      return findDone(error, source, to);
    }
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
