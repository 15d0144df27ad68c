import type { KeyedMutex } from '../../concurrency/keyed-mutex.ts';
import { isStoreError, undefinedIfNotFound } from '../../model/error.ts';
import type { KeptId } from '../../model/kept-ids.ts';
import type { FilePath } from '../../model/path.ts';
import type { FileEntry, Keep, Store, WriteCondition } from '../../model/store.ts';
import { concurrentlyModified, requireCondition } from '../../model/store-errors.ts';
import type { Attributes } from './operations.ts';

/** Keeps the content of a file that is about to be replaced. */
export interface ReplacedKeeper {
  /**
   * Keeps the content of the entry as a version. Throws `condition-failed` or `not-found` if the file has changed.
   * `discard` undoes it.
   */
  keep(present: FileEntry, keep: Keep): Promise<{ readonly id: KeptId; discard(): Promise<void> }>;
  /** Returns the attributes of the new object. */
  attributesOf(keep: Keep): Promise<Attributes>;
}

/** Maximum attempts to replace a file that other clients change. */
const MAX_ATTEMPTS = 20;

/** Maximum attempts that fail although the file is unchanged. */
const MAX_UNCHANGED = 3;

/**
 * Puts new content at a path, and first keeps the content that it replaces. The new content replaces exactly the kept one,
 * if the store supports conditions on writes. In this process, changes of one path follow one another.
 */
export class Replacer {
  readonly #stat: Store['stat'];
  readonly #versions: ReplacedKeeper;
  readonly #locks: KeyedMutex;

  constructor(stat: Store['stat'], versions: ReplacedKeeper, locks: KeyedMutex) {
    this.#stat = stat;
    this.#versions = versions;
    this.#locks = locks;
  }

  /**
   * Calls `put` under a condition, until the condition holds. Without `keep`, calls it once, with the condition of the
   * caller.
   */
  replace<Output>(
    file: FilePath,
    { condition, keep }: { condition?: WriteCondition | undefined; keep?: Keep | undefined },
    put: (condition: WriteCondition | undefined) => Promise<Output>,
  ): Promise<Output> {
    return this.#locks.run(file, async () => {
      // A file that must not exist replaces nothing.
      if (!keep || condition === 'absent') return put(condition);
      for (let attempt = 1, unchanged = 0; ; attempt++) {
        const present = await undefinedIfNotFound(this.#stat(file));
        requireCondition(file, present, condition);
        try {
          return await (present ? this.#replacePresent(present, keep, put) : put('absent'));
        } catch (error) {
          if (!isStoreError(error, 'condition-failed') && !isStoreError(error, 'not-found')) throw error;
          const now = await undefinedIfNotFound(this.#stat(file));
          // Either another condition failed, for example on the source of a copy, or the file was there only for a moment.
          if (now?.etag === present?.etag) unchanged++;
          if (unchanged === MAX_UNCHANGED || condition !== undefined) throw error;
          if (attempt === MAX_ATTEMPTS) throw concurrentlyModified(error);
        }
      }
    });
  }

  /** Returns the attributes that the new object must have in addition. */
  async attributesOf(keep: Keep | undefined): Promise<Attributes> {
    return keep ? this.#versions.attributesOf(keep) : {};
  }

  async #replacePresent<Output>(
    present: FileEntry,
    keep: Keep,
    put: (condition: WriteCondition) => Promise<Output>,
  ): Promise<Output> {
    const { id, discard } = await this.#versions.keep(present, keep);
    try {
      const output = await put({ etag: present.etag });
      keep.onKept?.(id);
      return output;
    } catch (error) {
      // After any other error, the content might have been replaced.
      if (isStoreError(error) && error.kind !== 'unavailable') await discard();
      throw error;
    }
  }
}
