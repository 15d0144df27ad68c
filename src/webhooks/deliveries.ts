import { hash, randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { Position } from '../changes/cursor.ts';
import type { Database } from '../database/database.ts';
import type { WebhookDeliveriesTable } from '../database/tables/webhooks.ts';
import { quoted, StoreError } from '../model/error.ts';
import { type Attempt, type Delivery, deliveryNotFound } from './webhook.ts';
import { WEBHOOKS_TOPIC } from './webhooks.ts';

/** How long deliveries are kept after their end: a week, and at most so many of one webhook. */
const LIFETIME_MS = 7 * 24 * 60 * 60_000;
const MAX_ENDED = 1000;

/** A message for a webhook, before its first attempt. */
export interface Message {
  readonly type: string;
  readonly body: string;
}

/** What follows an attempt: nothing after a success or the last failure, otherwise another attempt after a delay. */
export type NextStep = { readonly status: 'delivered' | 'failed' } | { readonly retryMs: number };

/** One page of deliveries, with the newest first. */
export interface DeliveryPage {
  readonly deliveries: readonly Delivery[];
  readonly cursor: string | undefined;
}

/** The table of deliveries. Every member throws `database-unavailable` if the database can't be used. */
export class Deliveries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Adds the messages of the changes between two positions of the log, and moves the webhook to the second one. Does nothing
   * if another process did so before. Returns whether it did.
   */
  async add(
    webhook: string,
    { from, to, messages }: { readonly from: Position; readonly to: Position; readonly messages: readonly Message[] },
  ): Promise<boolean> {
    const { now } = this.#database.dialect;
    return this.#database.transaction(async (db) => {
      const moved = await db
        .updateTable('webhooks')
        .set({ position_sequence: to.sequence, position_time: to.time })
        .where('id', '=', webhook)
        .where('enabled', '=', 1)
        .where('position_sequence', '=', from.sequence)
        .where('position_time', '=', from.time)
        .returning('id')
        .executeTakeFirst();
      if (!moved) return false;
      if (messages.length > 0) {
        const times = { queued_at: now, next_attempt_at: now, created_at: now };
        const rows = messages.map((message) => ({
          ...message,
          ...times,
          id: idOf(webhook, message),
          webhook_id: webhook,
        }));
        await db
          .insertInto('webhook_deliveries')
          .values(rows.map((row) => ({ ...row, status: 'pending' as const })))
          .onConflict((conflict) => conflict.column('id').doNothing())
          .execute();
      }
      return true;
    });
  }

  /** Adds a message that was sent once, and how that ended. */
  async addSent(
    webhook: string,
    message: Message,
    { id, attempt }: { id: string; attempt: Attempt },
  ): Promise<Delivery> {
    const { now } = this.#database.dialect;
    const row = await this.#database.run((db) =>
      db
        .insertInto('webhook_deliveries')
        .values({
          ...message,
          ...toColumns(attempt),
          id,
          webhook_id: webhook,
          status: attempt.error === undefined ? 'delivered' : 'failed',
          attempts: 1,
          queued_at: now,
          created_at: now,
        })
        .returningAll()
        .executeTakeFirstOrThrow(),
    );
    return toDelivery(row);
  }

  /** Returns the enabled webhooks that have a delivery that is due. */
  async findDueWebhooks(): Promise<readonly string[]> {
    const { now } = this.#database.dialect;
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('webhook_deliveries')
        .innerJoin('webhooks', 'webhooks.id', 'webhook_id')
        .select('webhook_id')
        .distinct()
        .where('enabled', '=', 1)
        .where('status', '=', 'pending')
        .where('next_attempt_at', '<=', now)
        .execute(),
    );
    return rows.map((row) => row.webhook_id);
  }

  /** Returns at most `limit` deliveries of a webhook that are due, the oldest first. */
  async findDue(webhook: string, limit: number): Promise<readonly Delivery[]> {
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('webhook_deliveries')
        .selectAll()
        .where('webhook_id', '=', webhook)
        .where('status', '=', 'pending')
        .where('next_attempt_at', '<=', this.#database.dialect.now)
        .orderBy('sequence')
        .limit(limit)
        .execute(),
    );
    return rows.map(toDelivery);
  }

  /** Returns the number of pending deliveries of a webhook, but at most `limit`. */
  async countPending(webhook: string, limit: number): Promise<number> {
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('webhook_id', '=', webhook)
        .where('status', '=', 'pending')
        .limit(limit)
        .execute(),
    );
    return rows.length;
  }

  /** Stores how an attempt ended. A delivery that has ended meanwhile, because its webhook was disabled, is not retried. */
  async record({ id }: Delivery, attempt: Attempt, next: NextStep): Promise<void> {
    const { now } = this.#database.dialect;
    await this.#database.run((db) =>
      db
        .updateTable('webhook_deliveries')
        .set(({ eb }) => ({
          ...toColumns(attempt),
          attempts: eb('attempts', '+', 1),
          ...('status' in next
            ? { status: next.status, next_attempt_at: null }
            : { next_attempt_at: sql<number>`${now} + ${sql.lit(Math.round(next.retryMs))}` }),
        }))
        .where('id', '=', id)
        .$if(!('status' in next), (query) => query.where('status', '=', 'pending'))
        .execute(),
    );
  }

  /** Returns one page of the deliveries of a webhook. Throws `invalid-cursor`. */
  async list(
    webhook: string,
    { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
  ): Promise<DeliveryPage> {
    const before = cursor === undefined ? undefined : parseCursor(cursor);
    const rows = await this.#database.run((db) =>
      db
        .selectFrom('webhook_deliveries')
        .selectAll()
        .where('webhook_id', '=', webhook)
        .$if(before !== undefined, (query) => query.where('sequence', '<', before ?? 0))
        .orderBy('sequence', 'desc')
        .limit(limit + 1)
        .execute(),
    );
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { deliveries: page.map(toDelivery), cursor: last && String(last.sequence) };
  }

  /** Sends a delivery again, with retries. Throws `not-found`. */
  async repeat(webhook: string, id: string): Promise<Delivery> {
    const { now } = this.#database.dialect;
    const row = await this.#database.run((db) =>
      db
        .updateTable('webhook_deliveries')
        .set({ status: 'pending', attempts: 0, queued_at: now, next_attempt_at: now })
        .where('webhook_id', '=', webhook)
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst(),
    );
    if (!row) throw deliveryNotFound(id);
    await this.#database.notify(WEBHOOKS_TOPIC);
    return toDelivery(row);
  }

  /** Removes the deliveries of a webhook that ended long ago, and the oldest above the maximum. */
  async expire(webhook: string): Promise<void> {
    const { now } = this.#database.dialect;
    await this.#database.run((db) =>
      db
        .deleteFrom('webhook_deliveries')
        .where('webhook_id', '=', webhook)
        .where('status', '!=', 'pending')
        .where(({ or, eb, selectFrom }) =>
          or([
            eb('created_at', '<', sql<number>`${now} - ${sql.lit(LIFETIME_MS)}`),
            eb(
              'sequence',
              '<',
              selectFrom('webhook_deliveries as kept')
                .select('kept.sequence')
                .where('kept.webhook_id', '=', webhook)
                .where('kept.status', '!=', 'pending')
                .orderBy('kept.sequence', 'desc')
                .limit(1)
                .offset(MAX_ENDED - 1),
            ),
          ]),
        )
        .execute(),
    );
  }
}

/** Returns the ID of a new message. */
export const createId = () => `msg_${randomUUID().replaceAll('-', '')}`;

/** Returns the ID of the message of a change. It is the same if the change becomes a message again in a restored database. */
const idOf = (webhook: string, { body }: Message) => `msg_${hash('sha256', `${webhook} ${body}`).slice(0, 32)}`;

function toColumns({ time, durationMs, response, error }: Attempt) {
  return {
    attempted_at: time.getTime(),
    duration_ms: Math.round(durationMs),
    response_status: response?.status ?? null,
    response_excerpt: response?.excerpt ?? null,
    error: error ?? null,
  };
}

function toDelivery(row: Selectable<WebhookDeliveriesTable>): Delivery {
  const { attempted_at: time, response_status: status } = row;
  return {
    id: row.id,
    type: row.type,
    body: row.body,
    status: row.status,
    attempts: row.attempts,
    queuedAt: new Date(row.queued_at),
    createdAt: new Date(row.created_at),
    nextAttemptAt: row.next_attempt_at === null ? undefined : new Date(row.next_attempt_at),
    lastAttempt:
      time === null
        ? undefined
        : {
            time: new Date(time),
            durationMs: row.duration_ms ?? 0,
            response: status === null ? undefined : { status, excerpt: row.response_excerpt ?? '' },
            error: row.error ?? undefined,
          },
  };
}

function parseCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  const message = `The cursor ${quoted(cursor)} was not issued by a list of deliveries. List them from the beginning.`;
  throw new StoreError('invalid-cursor', message);
}
