/**
 * Features of Amazon S3 that this store lacks. Each process learns them from responses; later requests omit the
 * unsupported features.
 */
export interface Capabilities {
  /** Returns whether requests should use the feature. */
  has(ability: Capability): boolean;
  /** Returns whether the store has accepted a request with the feature. */
  isConfirmed(ability: Capability): boolean;
  /** Records that the store accepted a request with the feature. */
  confirm(ability: Capability): void;
  /**
   * Records that the store lacks the ability and logs it once. `details` describes the store's error. Has no effect on
   * a confirmed ability: the error was temporary, or is about one object. After `RETEST_MS`, the feature is tried
   * again.
   */
  lose(ability: Capability, details: object): void;
}

export type Capability = keyof typeof MISSING;

/** Messages for the log and the doctor. */
const MISSING = {
  putIfNoneMatch:
    'The object store does not support If-None-Match on PutObject: Holdall checks the destination before each write.',
  putIfMatch: 'The object store does not support If-Match on PutObject: Holdall checks the file before each write.',
  completeIfNoneMatch:
    'The object store does not support If-None-Match on CompleteMultipartUpload: Holdall checks the destination before it.',
  completeIfMatch:
    'The object store does not support If-Match on CompleteMultipartUpload: Holdall checks the file before it.',
  copyConditions:
    'The object store does not support If-None-Match on CopyObject: the copy of a folder may replace files that arrive meanwhile.',
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
  deletesWithoutMd5: 'The object store requires Content-MD5 on DeleteObjects: Holdall sends it.',
  batchDeletes: 'The object store does not support DeleteObjects: Holdall deletes objects one by one.',
  partCopies:
    'The object store does not support UploadPartCopy: Holdall copies objects with CopyObject, or reads and writes them.',
} as const;

/** Milliseconds after which a lost ability is tried again: a fault that passed must not weaken conditions for good. */
export const RETEST_MS = 3_600_000;

export function createCapabilities(
  warn: (message: string, details: object) => void,
  now: () => number = () => performance.now(),
): Capabilities {
  const lostAt = new Map<Capability, number>();
  const confirmed = new Set<Capability>();
  return {
    has(ability) {
      const time = lostAt.get(ability);
      return time === undefined || now() - time >= RETEST_MS;
    },
    isConfirmed: (ability) => confirmed.has(ability),
    confirm: (ability) => void confirmed.add(ability),
    lose(ability, details) {
      if (confirmed.has(ability) || !this.has(ability)) return;
      if (!lostAt.has(ability)) warn(MISSING[ability], details);
      lostAt.set(ability, now());
    },
  };
}

/** Returns whether a log message reports a missing ability. */
export const isMissingCapability = (message: string): boolean => Object.values<string>(MISSING).includes(message);
