import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config/settings.ts';
import type { VolumeName } from '../http/schemas.ts';
import { systemErrorCode } from '../model/error.ts';
import type { Space } from '../model/store.ts';
import type { VolumeSpace } from '../observability/metrics.ts';
import type { OpenedStore } from '../stores/backend.ts';
import { minFreeBytes } from '../stores/layers/min-free-space.ts';
import { spaceOf } from '../system.ts';

/** Milliseconds for which a reading is reused, so that any number of requests costs one. */
const LIFETIME_MS = 1000;

/** Milliseconds for one volume. A network disk might never respond, which must not delay the others. */
const TIMEOUT_MS = 1000;

type VolumeSettings = Pick<Config, 'AUDIT_LOG' | 'CACHE_DIR' | 'MIN_FREE_SPACE'>;

/** Watches the space of the volumes that the service uses. */
export class Volumes {
  readonly #sources: readonly (readonly [VolumeName, () => Promise<Space>])[];
  readonly #minFreeSpace: number | undefined;
  #reading: { readonly until: number; readonly volumes: Promise<readonly Volume[]> } | undefined;

  constructor(
    { store, stateFolder, cacheFolder }: Pick<OpenedStore, 'store' | 'stateFolder' | 'cacheFolder'>,
    { AUDIT_LOG, CACHE_DIR, MIN_FREE_SPACE }: VolumeSettings,
  ) {
    const { space } = store;
    const folders = {
      state: stateFolder,
      cache: CACHE_DIR ?? cacheFolder,
      temporary: tmpdir(),
      logs: auditFolderOf(AUDIT_LOG),
    };
    this.#minFreeSpace = MIN_FREE_SPACE;
    this.#sources = [
      ...(space ? [['files', () => space.call(store)] as const] : []),
      ...Object.entries(folders).flatMap(([name, folder]) =>
        folder === undefined ? [] : [[name as VolumeName, () => spaceOfNearest(folder)] as const],
      ),
    ];
  }

  /** Returns the space of each volume, without those that can't be read now. */
  async read(): Promise<readonly Volume[]> {
    if (!this.#reading || performance.now() >= this.#reading.until) {
      this.#reading = { until: performance.now() + LIFETIME_MS, volumes: this.#readAll() };
    }
    return this.#reading.volumes;
  }

  /** Returns the volumes with less free space than `MIN_FREE_SPACE`. */
  async findAlmostFull(): Promise<readonly VolumeName[]> {
    return (await this.read()).filter(({ free, minFree }) => free <= minFree).map(({ name }) => name);
  }

  async #readAll(): Promise<readonly Volume[]> {
    const found = await Promise.all(
      this.#sources.map(async ([name, space]): Promise<Volume | undefined> => {
        const deadline = new AbortController();
        const expired = delay(TIMEOUT_MS, undefined, { ref: false, signal: deadline.signal });
        const read = await Promise.race([space(), expired]).catch(() => undefined);
        deadline.abort();
        return read && { name, free: read.available, minFree: minFreeBytes(read, this.#minFreeSpace) };
      }),
    );
    return found.filter((volume) => volume !== undefined);
  }
}

interface Volume extends VolumeSpace {
  readonly name: VolumeName;
}

/** Returns the folder of the audit log; undefined if the log is not a file. */
export function auditFolderOf(destination: string): string | undefined {
  return destination === 'stdout' || destination === 'off' ? undefined : dirname(resolve(destination));
}

/** Returns the space of the volume of a folder, which might not exist yet. */
async function spaceOfNearest(folder: string): Promise<Space> {
  try {
    return await spaceOf(folder);
  } catch (error) {
    const above = dirname(folder);
    if (systemErrorCode(error) !== 'ENOENT' || above === folder) throw error;
    return spaceOfNearest(above);
  }
}
