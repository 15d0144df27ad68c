import { sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { ChecksumStore, StoredChecksum } from './checksums.ts';

/** Checksums that are written or looked up by one query. */
const BATCH = 500;

/** Milliseconds after which checksums are written, unless there are enough for a query before. */
const WRITE_DELAY_MS = 1000;

/** Checksums that wait while the database is slow. More are dropped. */
const MAX_WAITING = 20_000;

/** How long checksums are stored, and how many: some 100 MB. */
const MAX_AGE_MS = 7 * 24 * 60 * 60_000;
const MAX_ROWS = 1_000_000;

/** Milliseconds between two removals of expired checksums, in each process that writes, and rows removed by one query. */
const EXPIRY_INTERVAL_MS = 60 * 60_000;
const EXPIRY_BATCH = 1000;

/** The checksums in the database, for resumed downloads that reach another process or replica. */
export class StoredChecksums implements ChecksumStore {
  readonly #database: Database;
  #waiting: StoredChecksum[] = [];
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #expiredAt = Number.NEGATIVE_INFINITY;

  constructor(database: Database) {
    this.#database = database;
  }

  add(checksum: StoredChecksum): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#waiting.push(checksum);
    this.#timer ??= setTimeout(() => void this.flush(), WRITE_DELAY_MS).unref();
  }

  async find(keys: readonly string[]): Promise<readonly StoredChecksum[]> {
    const found: StoredChecksum[] = [];
    try {
      for (let first = 0; first < keys.length; first += BATCH) {
        const batch = keys.slice(first, first + BATCH);
        const query = this.#database.run((db) =>
          db.selectFrom('zip_checksums').select(['key', 'position', 'crc']).where('key', 'in', batch).execute(),
        );
        found.push(...(await query));
      }
    } catch {
      // Without the database, the files are read again.
    }
    return found;
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting.splice(0, BATCH);
        await this.#insert(batch);
      }
      if (performance.now() - this.#expiredAt > EXPIRY_INTERVAL_MS) await this.#expire();
    } catch {
      // Not worth a log line: `Database` reports its outage.
      this.#waiting = [];
    }
  }

  async #insert(checksums: readonly StoredChecksum[]): Promise<void> {
    const { now } = this.#database.dialect;
    const rows = new Map(checksums.map((checksum) => [`${checksum.key} ${checksum.position}`, checksum]));
    const values = [...rows.values()].map((row) => ({ ...row, created_at: now }));
    await this.#database.run((db) =>
      db
        .insertInto('zip_checksums')
        .values(values)
        .onConflict((conflict) => conflict.columns(['key', 'position']).doUpdateSet({ created_at: now }))
        .execute(),
    );
  }

  async #expire(): Promise<void> {
    this.#expiredAt = performance.now();
    const { now } = this.#database.dialect;
    const newest = (offset: number) => sql<number>`coalesce(
      (select created_at from zip_checksums order by created_at desc limit 1 offset ${sql.lit(offset)}), 0)`;
    const isExpired = sql<boolean>`created_at < ${now} - ${sql.lit(MAX_AGE_MS)} or created_at < ${newest(MAX_ROWS)}`;
    for (let removed = EXPIRY_BATCH; removed >= EXPIRY_BATCH; ) {
      const batch = await this.#database.run((db) =>
        db.selectFrom('zip_checksums').select('key').where(isExpired).limit(EXPIRY_BATCH).execute(),
      );
      removed = batch.length;
      const keys = [...new Set(batch.map(({ key }) => key))];
      if (keys.length > 0) {
        await this.#database.run((db) => db.deleteFrom('zip_checksums').where('key', 'in', keys).execute());
      }
    }
  }
}
