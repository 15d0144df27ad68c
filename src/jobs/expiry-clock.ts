import type { Database } from '../database/database.ts';
import { isPlausibleTime, setKnownTime } from '../model/clock.ts';

/**
 * Milliseconds by which the clock of an expiry advances at most in one run, which takes place every hour. A clock that is
 * years ahead for a day then removes what would have expired within a week. After a pause of a month, it takes five days
 * until the expiry is up to date.
 */
const MAX_STEP_MS = 6 * 60 * 60_000;

/**
 * The clocks by which content expires. They follow the clocks of this process and of the database, the earlier of both,
 * but a clock that jumps ahead takes them along only slowly. Every member throws `database-unavailable`.
 */
export class ExpiryClock {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Learns the latest known time from the database. */
  async load(): Promise<void> {
    const row = await this.#database.run((db) =>
      db
        .selectFrom('expiry_clocks')
        .select(({ fn }) => fn.max('time').as('time'))
        .executeTakeFirst(),
    );
    if (row?.time) setKnownTime(row.time);
  }

  /**
   * Advances the clock of a kind of job. Returns its time; undefined if the present time is implausible and no earlier one
   * is known, so that nothing may expire.
   */
  async advance(kind: string): Promise<Date | undefined> {
    const time = await this.#database.transaction(async (db) => {
      const known = await db.selectFrom('expiry_clocks').select('time').where('kind', '=', kind).executeTakeFirst();
      const { now } = await db.selectNoFrom(this.#database.dialect.now.as('now')).executeTakeFirstOrThrow();
      const present = Math.min(now, Date.now());
      if (!isPlausibleTime(present)) return known?.time;
      const advanced = known ? Math.min(present, known.time + MAX_STEP_MS) : present;
      await db
        .insertInto('expiry_clocks')
        .values({ kind, time: advanced })
        .onConflict((conflict) => conflict.column('kind').doUpdateSet({ time: advanced }))
        .execute();
      return advanced;
    });
    if (time === undefined) return undefined;
    setKnownTime(time);
    return new Date(time);
  }
}
