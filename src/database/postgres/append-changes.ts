import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { ChangeRecord } from '../../model/change.ts';
import type { Appended } from '../engine.ts';
import { keptColumn } from '../tables/changes.ts';
import type { Tables } from '../tables/tables.ts';

/** The time at which it is evaluated, also within a statement that had to wait. In milliseconds since 1970. */
const clock = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`;

/**
 * Adds changes to the change log and sends a notification, in one statement. The server delivers the notification when the
 * changes are visible. The row of `change_feed` remains locked until then, so that no other process can commit a larger
 * number before. Their time is read again after a wait for that row, so that times are in the order of the numbers.
 */
export async function appendChanges(
  db: Kysely<Tables>,
  changes: readonly ChangeRecord[],
  notification: RawBuilder<unknown>,
): Promise<Appended> {
  const column = <Value>(read: (change: ChangeRecord) => Value | undefined) =>
    changes.map((change) => read(change) ?? null);
  const { rows } = await sql<Appended>`
    with feed as (
      update change_feed set last_sequence = last_sequence + ${changes.length}, last_time = ${clock}
      returning last_sequence - ${changes.length} as previous, last_sequence, last_time, key
    ), added as (
      insert into changes (sequence, time, type, path, source, size, etag, user_name, link, kept, undoes, identity, is_external)
      select feed.previous + position, feed.last_time, type, path, source, size, etag, user_name, link, kept, undoes, identity, is_external
      from feed, unnest(
        ${column(({ type }) => type)}::text[],
        ${column(({ path }) => path)}::text[],
        ${column(({ from }) => from)}::text[],
        ${column(({ size }) => size)}::bigint[],
        ${column(({ etag }) => etag)}::text[],
        ${column(({ user }) => user)}::text[],
        ${column(({ link }) => link)}::text[],
        ${changes.map(keptColumn)}::text[],
        ${column(({ undoes }) => undoes)}::bigint[],
        ${column(({ identity }) => identity)}::text[],
        ${column(({ isExternal }) => (isExternal ? 1 : undefined))}::integer[]
      ) with ordinality as change (type, path, source, size, etag, user_name, link, kept, undoes, identity, is_external, position)
    )
    select last_sequence as sequence, last_time as time, key, ${notification} as notified from feed`.execute(db);
  const [appended] = rows;
  if (!appended) throw new Error('The table change_feed is empty.');
  const { sequence, time, key } = appended;
  return { sequence, time, key };
}
