import { isStoreError } from '../../model/error.ts';
import { codeOf } from './errors.ts';

/** Messages about missing features, for the log and the doctor. */
const MESSAGES = {
  putIfNoneMatch:
    'The object store does not support If-None-Match on PutObject: Holdall checks the destination before each write.',
  putIfMatch: 'The object store does not support If-Match on PutObject: Holdall checks the file before each write.',
  completeIfNoneMatch:
    'The object store does not support If-None-Match on CompleteMultipartUpload: Holdall checks the destination before it.',
  completeIfMatch:
    'The object store does not support If-Match on CompleteMultipartUpload: Holdall checks the file before it.',
  copyConditions:
    'The object store does not support If-None-Match on CopyObject: a copy of a folder, or of a large file if UploadPartCopy is missing too, can replace files that are created meanwhile.',
  sourceConditions:
    'The object store does not support conditions on copy sources: Holdall checks the source before each copy.',
  sourceConditionsOnParts:
    'The object store does not support conditions on copy sources made in parts: Holdall checks the source before each copy.',
  deleteConditions:
    'The object store does not support conditions on deletes: Holdall checks objects before it deletes them.',
  deleteConditionsOnParts:
    'The object store does not support conditions on deletes of objects made in parts: Holdall checks them before it deletes them.',
  batchEtags:
    'The object store does not support ETags in DeleteObjects: Holdall deletes the objects of a folder as it listed them.',
  batchDeletes: 'The object store does not support DeleteObjects: Holdall deletes objects one by one.',
  partCopies:
    'The object store does not support UploadPartCopy: Holdall copies objects with CopyObject, or reads and writes them.',
} as const;

/** A feature of Amazon S3 that other stores might lack. */
export type Capability = keyof typeof MESSAGES;

/**
 * Milliseconds after which a missing feature is tried again: a temporary fault must not weaken conditions permanently.
 */
export const RETEST_MS = 3_600_000;

/**
 * The features of Amazon S3 that the store supports, as far as is known. Each process learns them from responses; later
 * requests omit the unsupported features.
 */
export class Capabilities {
  readonly #warn: (message: string, details: object) => void;
  readonly #now: () => number;
  readonly #missingSince = new Map<Capability, number>();
  readonly #confirmed = new Set<Capability>();

  constructor(warn: (message: string, details: object) => void, now: () => number = () => performance.now()) {
    this.#warn = warn;
    this.#now = now;
  }

  /** Returns whether requests should use the feature. */
  has(capability: Capability): boolean {
    const time = this.#missingSince.get(capability);
    return time === undefined || this.#now() - time >= RETEST_MS;
  }

  /** Returns whether the store has accepted a request with the feature. */
  isConfirmed(capability: Capability): boolean {
    return this.#confirmed.has(capability);
  }

  /** Records that the store accepted a request with the feature. */
  confirm(capability: Capability): void {
    this.#confirmed.add(capability);
  }

  /**
   * Records that the store lacks the feature, and logs it once. `details` describes the store's error. Has no effect on
   * a confirmed feature: the error was temporary, or is about one object. After `RETEST_MS`, the feature is tried
   * again.
   */
  markMissing(capability: Capability, details: object): void {
    if (this.#confirmed.has(capability) || !this.has(capability)) return;
    if (!this.#missingSince.has(capability)) this.#warn(MESSAGES[capability], details);
    this.#missingSince.set(capability, this.#now());
  }
}

/** Returns whether a log message reports a missing feature. */
export const isMissingCapability = (message: string): boolean => Object.values<string>(MESSAGES).includes(message);

/** The headers of a conditional request. */
export interface ConditionHeaders {
  readonly 'if-match'?: string;
  readonly 'if-none-match'?: '*';
}

/** The condition that the object does not exist. */
export const IF_ABSENT: ConditionHeaders = { 'if-none-match': '*' };

/** Returns the capability that a conditional write requires. Some stores support only one of the two headers. */
export const writeCapability = (operation: 'put' | 'complete', condition: ConditionHeaders): Capability =>
  `${operation}${condition['if-match'] === undefined ? 'IfNoneMatch' : 'IfMatch'}`;

/**
 * Sends a conditional request. If the store does not support the condition, `check` tests the object right before an
 * unconditional request. That request replaces or deletes objects that arrive in between.
 *
 * Some stores return 501 for conditions, and some return 412 although the condition holds. The condition counts as
 * unsupported if `check` passes after two such responses, and the store has never accepted the condition. After only
 * one, the object might have changed temporarily, or a proxy might have failed. A store that has accepted the condition
 * is right.
 *
 * @param check throws unless the condition holds
 */
export async function sendConditionally<Output>(
  capabilities: Capabilities,
  capability: Capability,
  condition: ConditionHeaders,
  { check, send }: { check: () => Promise<void>; send: (condition: ConditionHeaders) => Promise<Output> },
): Promise<Output> {
  if (condition['if-match'] === undefined && condition['if-none-match'] === undefined) return send({});
  let code: string | undefined;
  for (let attempt = 1; capabilities.has(capability) && attempt <= 2; attempt++) {
    try {
      const output = await send(condition);
      capabilities.confirm(capability);
      return output;
    } catch (error) {
      const isUnsupported = isStoreError(error, 'unsupported');
      if (!isUnsupported && !isStoreError(error, 'condition-failed')) throw error;
      await check();
      if (capabilities.isConfirmed(capability) && (attempt === 2 || !isUnsupported)) throw error;
      code = codeOf(error.cause);
    }
  }
  await check();
  const output = await send({});
  capabilities.markMissing(capability, { code });
  return output;
}
