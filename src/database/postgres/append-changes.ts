import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Change } from '../../model/change.ts';
import type { Tables } from '../tables/tables.ts';

/**
 * Adds changes to the change log and sends a notification, in one statement. The server delivers the notification when the
 * changes are visible. The row of `change_feed` remains locked until then, so that no other process can commit a larger
 * number before.
 */
export async function appendChanges(
  db: Kysely<Tables>,
  changes: readonly Change[],
  { now, notification }: { readonly now: RawBuilder<number>; readonly notification: RawBuilder<unknown> },
): Promise<void> {
  const column = <Value>(read: (change: Change) => Value | undefined) => changes.map((change) => read(change) ?? null);
  await sql`
    with feed as (
      update change_feed set last_sequence = last_sequence + ${changes.length}, last_time = ${now}
      returning last_sequence - ${changes.length} as previous, last_time
    ), added as (
      insert into changes (sequence, time, type, path, source, size, etag, user_name)
      select feed.previous + position, feed.last_time, type, path, source, size, etag, user_name
      from feed, unnest(
        ${column(({ type }) => type)}::text[],
        ${column(({ path }) => path)}::text[],
        ${column(({ from }) => from)}::text[],
        ${column(({ size }) => size)}::bigint[],
        ${column(({ etag }) => etag)}::text[],
        ${column(({ user }) => user)}::text[]
      ) with ordinality as change (type, path, source, size, etag, user_name, position)
    )
    select ${notification}`.execute(db);
}
