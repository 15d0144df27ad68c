import { createHash } from 'node:crypto';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { FilePath } from '../../model/path.ts';
import type { Cancellable, Store, WriteCondition } from '../../model/store.ts';
import { requireCondition } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import { type ConditionHeaders, IF_ABSENT, sendConditionally, writeCapability } from './capabilities.ts';
import { wasRetried } from './errors.ts';
import { quote } from './keys.ts';
import { type Attributes, putObject } from './operations.ts';

export interface PutOptions extends Cancellable {
  readonly attributes: Attributes;
  readonly condition: WriteCondition | undefined;
  /** Returns the ETag if the object was written although the request failed with `error`; otherwise throws it. */
  readonly recover?: (error: unknown) => Promise<string>;
}

/** Writes whole objects under conditions, in the form that the store understands. */
export class ConditionalPut {
  readonly #bucket: Bucket;
  readonly #stat: Store['stat'];
  /** Whether conditions of writes contain ETags without quotes. Ceph 16 rejects quotes, which RFC 9110 requires. */
  #omitsQuotes = false;

  constructor(bucket: Bucket, stat: Store['stat']) {
    this.#bucket = bucket;
    this.#stat = stat;
  }

  /** Writes an object in one request and returns the ETag. `signal` does not abort this request. */
  put(file: FilePath, bytes: Buffer, options: PutOptions): Promise<string> {
    const headers = this.headersOf(options.condition);
    return sendConditionally(this.#bucket.capabilities, writeCapability('put', headers), headers, {
      check: () => this.require(file, options.condition, options),
      send: (sent) => this.#put(file, bytes, options, sent),
    });
  }

  async #put(file: FilePath, bytes: Buffer, options: PutOptions, headers: ConditionHeaders): Promise<string> {
    const { attributes, condition, recover, signal } = options;
    try {
      signal?.throwIfAborted();
      // The store might still write the object after the caller got an error.
      return await putObject(this.#bucket, file, bytes, { attributes, condition: headers });
    } catch (error) {
      if (!isStoreError(error, 'condition-failed')) throw error;
      const present = await undefinedIfNotFound(this.#stat(file, { signal }));
      // The first attempt succeeded but its response was lost, so its own file fails the condition of the retry.
      if (wasRetried(error.cause) && present?.etag === md5(bytes)) return present.etag;
      // Another request can have set `#omitsQuotes` after this one was sent.
      const hadQuotes = headers['if-match']?.startsWith('"') ?? false;
      if (!hadQuotes || typeof condition !== 'object' || present?.etag !== condition.etag) {
        if (recover) return recover(error);
        throw error;
      }
      this.#omitsQuotes = true;
      return this.#put(file, bytes, options, this.headersOf(condition));
    }
  }

  /** Returns the headers of a condition on the destination. */
  headersOf(condition: WriteCondition | undefined): ConditionHeaders {
    if (condition === undefined) return {};
    if (condition === 'absent') return IF_ABSENT;
    return { 'if-match': this.#omitsQuotes ? condition.etag : quote(condition.etag) };
  }

  /** Throws `condition-failed` if the condition is defined and does not hold now. */
  async require(file: FilePath, condition: WriteCondition | undefined, { signal }: Cancellable): Promise<void> {
    if (condition === undefined) return;
    requireCondition(file, await undefinedIfNotFound(this.#stat(file, { signal })), condition);
  }
}

/** Returns the ETag that stores assign to an unencrypted object written in one request. */
const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex');
