import type { KeptId } from '../model/kept-ids.ts';
import type { FilePath, FolderPath } from '../model/path.ts';

/** Maximum length of all remembered ids and paths in UTF-16 code units. In memory, they have at most twice as many bytes. */
const MAX_LENGTH = 32 * 1024 * 1024;

/** Milliseconds for which a full memory keeps what it has. */
const KEEP_FULL_MS = 60 * 60 * 1000;

/**
 * The paths of items in the trash, which never change. A listing can therefore skip the items that the user can't see
 * without reading their records. Paths of removed items remain until the memory is full. It then forgets all of them, at
 * most once an hour: if it forgot the oldest path for each new one, a listing of more items would never find a path.
 */
export class TrashPaths {
  readonly #paths = new Map<KeptId, FilePath | FolderPath>();
  readonly #maxLength: number;
  readonly #now: () => number;
  #length = 0;
  #filledSince: number;

  constructor({ maxLength = MAX_LENGTH, now = Date.now } = {}) {
    this.#maxLength = maxLength;
    this.#now = now;
    this.#filledSince = now();
  }

  get(id: KeptId): FilePath | FolderPath | undefined {
    return this.#paths.get(id);
  }

  set(id: KeptId, path: FilePath | FolderPath): void {
    this.delete(id);
    const length = id.length + path.length;
    if (this.#length + length > this.#maxLength) {
      if (this.#now() - this.#filledSince < KEEP_FULL_MS) return;
      this.#paths.clear();
      this.#length = 0;
      this.#filledSince = this.#now();
    }
    this.#paths.set(id, path);
    this.#length += length;
  }

  delete(id: KeptId): void {
    const path = this.#paths.get(id);
    if (path === undefined) return;
    this.#paths.delete(id);
    this.#length -= id.length + path.length;
  }
}
