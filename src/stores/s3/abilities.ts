/**
 * Features of Amazon S3 that this store lacks. Each process learns them from responses; later requests omit the
 * unsupported features.
 */
export interface Abilities {
  has(ability: Ability): boolean;
  /** Records that the store lacks the ability and logs it once. `details` describes the store's error. */
  lose(ability: Ability, details: object): void;
}

export type Ability = keyof typeof LACKS;

/** Messages for the log and the doctor. */
const LACKS = {
  putConditions:
    'The object store does not support conditions on PutObject: Holdall checks the destination before each write.',
  completeConditions:
    'The object store does not support conditions on CompleteMultipartUpload: Holdall checks the destination before it.',
  copyConditions:
    'The object store does not support If-None-Match on CopyObject: the copy of a folder may replace files that arrive meanwhile.',
  sourceConditions:
    'The object store does not support conditions on copy sources: Holdall checks the source before each copy.',
  deleteConditions:
    'The object store does not support conditions on deletes: Holdall checks objects before it deletes them.',
  batchEtags:
    'The object store does not support ETags in DeleteObjects: Holdall deletes the objects of a folder as it listed them.',
  deletesWithoutMd5: 'The object store requires Content-MD5 on DeleteObjects: Holdall sends it.',
  batchDeletes: 'The object store does not support DeleteObjects: Holdall deletes objects one by one.',
  partCopies:
    'The object store does not support UploadPartCopy: Holdall copies objects with CopyObject, or reads and writes them.',
} as const;

export function createAbilities(warn: (message: string, details: object) => void): Abilities {
  const lost = new Set<Ability>();
  return {
    has: (ability) => !lost.has(ability),
    lose(ability, details) {
      if (lost.has(ability)) return;
      lost.add(ability);
      warn(LACKS[ability], details);
    },
  };
}

/** Returns whether a log message reports a missing ability. */
export const isLack = (message: string): boolean => Object.values<string>(LACKS).includes(message);
