/**
 * What Amazon S3 supports and this store was found to lack. Each process learns it once, from responses; later requests
 * go without what was refused.
 */
export interface Abilities {
  has(ability: Ability): boolean;
  /** Remembers that the store lacks it, and logs that once. `details` says how the store refused it. */
  lose(ability: Ability, details: object): void;
}

export type Ability = keyof typeof LACKS;

/** What the log says, and with it the doctor. */
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

/** Whether a line of the log says that the store lacks something. */
export const isLack = (message: string): boolean => Object.values<string>(LACKS).includes(message);
