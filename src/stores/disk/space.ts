import { join } from 'node:path';
import { type FilePath, type FolderPath, ROOT } from '../../model/path.ts';
import type { Space } from '../../model/store.ts';
import { spaceOf } from '../../system.ts';
import { toStoreError } from './errors.ts';
import { mountPointsIn, volumeOf } from './mount-points.ts';

/** Milliseconds for which ample space and the list of mount points are remembered. */
const LIFETIME_MS = 1000;

/** Bytes that no second of writing uses up. Less space is not remembered, because it decides whether writes are refused. */
const AMPLE_BYTES = 4 * 2 ** 30;

/** The space of the volumes below a folder. */
export class DiskSpace {
  readonly #root: string;
  #known: { readonly until: number; readonly mounts: Promise<readonly string[]>; readonly ample: Map<string, Space> };

  constructor(root: string) {
    this.#root = root;
    this.#known = { until: 0, mounts: Promise.resolve([]), ample: new Map() };
  }

  /** Returns the space of the volume that holds `path`, or would hold it. */
  async of(path: FilePath | FolderPath): Promise<Space> {
    try {
      const { mounts, ample } = this.#upToDate();
      const volume = path === ROOT ? this.#root : volumeOf(join(this.#root, path), await mounts, this.#root);
      const space = ample.get(volume) ?? { ...(await spaceOf(volume)), volume };
      if (space.available >= AMPLE_BYTES) ample.set(volume, space);
      return space;
    } catch (error) {
      throw toStoreError(error, ROOT);
    }
  }

  #upToDate() {
    const now = performance.now();
    if (now >= this.#known.until) {
      const mounts = mountPointsIn(this.#root);
      // It is awaited only for a path below the root.
      mounts.catch(() => {});
      this.#known = { until: now + LIFETIME_MS, mounts, ample: new Map() };
    }
    return this.#known;
  }
}
