import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { coalesced } from '../../concurrency/coalesced.ts';
import { createSingleFlight } from '../../concurrency/single-flight.ts';
import { isStoreError, systemErrorCode } from '../../model/error.ts';
import { type KeptId, timeOfKeptId } from '../../model/kept-ids.ts';
import { type FilePath, type FolderPath, ROOT } from '../../model/path.ts';
import { TrashPaths } from '../trash-paths.ts';
import { parseRecord, type TrashRecord } from '../trash-record.ts';
import { toStoreError } from './errors.ts';
import type { Root } from './root.ts';

/** The names in the folder of the trash. */
export interface TrashNames {
  /** Ascending: the newest item first. */
  readonly ids: readonly KeptId[];
  /** The names of records without content. */
  readonly orphans: readonly string[];
}

const RECORD_SUFFIX = '.json';

/** Maximum bytes of a record. A path has less than 4,096, which JSON can double. */
const MAX_RECORD_BYTES = 16 * 1024;

/** Reads what is in the folder `.holdall/trash`. Other programs can have put anything there. */
export class TrashRecords {
  readonly #root: Root;
  readonly #folder: string;
  readonly #paths = new TrashPaths();
  readonly #reading = createSingleFlight<TrashRecord | undefined>();

  /** Reads the names in the folder. Concurrent calls share one read that began after each of them. */
  readonly names: () => Promise<TrashNames>;

  /** `folder` is the absolute path. */
  constructor(root: Root, folder: string) {
    this.#root = root;
    this.#folder = folder;
    this.names = coalesced(() => this.#readNames());
  }

  /** Returns the path of an item that was read before; undefined if it is not remembered. */
  rememberedPath(id: KeptId): FilePath | FolderPath | undefined {
    return this.#paths.get(id);
  }

  /** Returns the absolute path of the record of an item. */
  pathOf(id: KeptId): string {
    return join(this.#folder, id + RECORD_SUFFIX);
  }

  /** Returns the record of an item; undefined if it is missing or invalid. */
  async read(id: KeptId): Promise<TrashRecord | undefined> {
    return this.#reading.run(id, async () => {
      const text = await this.#readText(id);
      const record = text === undefined ? undefined : parseRecord(text);
      if (record) this.#paths.set(id, record.path);
      return record;
    });
  }

  /** Forgets the path of an item whose record was removed. */
  forget(id: KeptId): void {
    this.#paths.delete(id);
  }

  /** Reads a record without waiting, as reading a FIFO does, and without following a link. */
  async #readText(id: KeptId): Promise<string | undefined> {
    await using file = await this.#root.openOwnFile(this.pathOf(id)).catch((error: unknown) => {
      if (isStoreError(error, 'denied')) return undefined;
      throw error;
    });
    const size = Number(file?.stats.size);
    if (!file || size > MAX_RECORD_BYTES) return undefined;
    const buffer = Buffer.alloc(size);
    return buffer.toString('utf8', 0, await file.threadpoolSyscalls.read(file.fd, buffer, 0));
  }

  async #readNames(): Promise<TrashNames> {
    await this.#root.requireOwnFolder(this.#folder);
    const names = await readdir(this.#folder).catch(async (error: unknown) => {
      if (systemErrorCode(error) !== 'ENOENT') throw toStoreError(error, ROOT);
      // The folder is missing until the first delete. On an unmounted disk it must not look empty.
      await this.#root.requireSame();
      return [];
    });
    const ids = names.filter((name) => timeOfKeptId(name)).toSorted() as KeptId[];
    const present: ReadonlySet<string> = new Set(ids);
    const orphans = names.filter(
      (name) => name.endsWith(RECORD_SUFFIX) && !present.has(name.slice(0, -RECORD_SUFFIX.length)),
    );
    return { ids, orphans };
  }
}

/** Returns the absolute paths of the items in the folder of the trash whose record is missing. */
export async function findWithoutRecord(folder: string): Promise<readonly string[]> {
  const names: ReadonlySet<string> = new Set(await readdir(folder).catch(emptyIfMissing));
  return [...names]
    .filter((name) => timeOfKeptId(name) && !names.has(name + RECORD_SUFFIX))
    .toSorted()
    .map((name) => join(folder, name));
}

function emptyIfMissing(error: unknown): readonly string[] {
  if (systemErrorCode(error) === 'ENOENT') return [];
  throw toStoreError(error, ROOT);
}
