import { randomUUID } from 'node:crypto';
import { type Selectable, sql, type UpdateObject } from 'kysely';
import type { Position } from '../changes/cursor.ts';
import type { ChangeLog } from '../changes/log.ts';
import type { Database } from '../database/database.ts';
import type { Tables } from '../database/tables/tables.ts';
import type { WebhooksTable } from '../database/tables/webhooks.ts';
import type { ChangeType } from '../model/change.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import { createSecret } from './signature.ts';
import { type DisabledReason, type Owner, type Webhook, type WebhookSettings, webhookNotFound } from './webhook.ts';

/** Maximum number of webhooks. Each process reads all of them after each change. */
const MAX_WEBHOOKS = 100;

/** Milliseconds for which the secret before a rotation also signs. */
const ROTATION_MS = 24 * 60 * 60_000;

/** The topic of the messages after which processes search for deliveries. */
export const WEBHOOKS_TOPIC = 'webhooks';

/** A webhook with its position in the log of changes. */
export interface PositionedWebhook {
  readonly webhook: Webhook;
  readonly position: Position;
}

/** The table of webhooks. Every member throws `database-unavailable` if the database can't be used. */
export class Webhooks {
  readonly #database: Database;
  readonly #changeLog: ChangeLog;

  constructor(database: Database, changeLog: ChangeLog) {
    this.#database = database;
    this.#changeLog = changeLog;
  }

  /** Adds a webhook for future changes. Its secret is returned only here. Throws `invalid-request` for too many. */
  async create(settings: WebhookSettings, owner: Owner | undefined): Promise<{ webhook: Webhook; secret: string }> {
    const { end: position } = await this.#changeLog.newest();
    const secret = createSecret();
    const row = await this.#database.transaction(async (db) => {
      const { count } = await db
        .selectFrom('webhooks')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      if (count >= MAX_WEBHOOKS) throw tooManyWebhooks();
      return db
        .insertInto('webhooks')
        .values({
          ...toColumns(settings),
          id: randomUUID(),
          secret,
          owner: owner ? JSON.stringify(owner) : null,
          enabled: 1,
          position_sequence: position.sequence,
          position_time: position.time,
          created_at: this.#database.dialect.now,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
    });
    await this.#database.notify(WEBHOOKS_TOPIC);
    return { webhook: toWebhook(row), secret };
  }

  /** Returns all webhooks, the oldest first. */
  async list(): Promise<readonly Webhook[]> {
    const rows = await this.#database.run((db) =>
      db.selectFrom('webhooks').selectAll().orderBy('created_at').orderBy('id').execute(),
    );
    return rows.map(toWebhook);
  }

  /** Returns the enabled webhooks with their positions. */
  async listEnabled(): Promise<readonly PositionedWebhook[]> {
    const rows = await this.#database.run((db) =>
      db.selectFrom('webhooks').selectAll().where('enabled', '=', 1).execute(),
    );
    return rows.map((row) => ({
      webhook: toWebhook(row),
      position: { sequence: row.position_sequence, time: row.position_time },
    }));
  }

  /** Throws `not-found`. */
  async get(id: string): Promise<Webhook> {
    const row = await this.#database.run((db) =>
      db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirst(),
    );
    if (!row) throw webhookNotFound(id);
    return toWebhook(row);
  }

  /** Throws `not-found`, and `invalid-request` for a webhook that is disabled. */
  async getEnabled(id: string): Promise<Webhook> {
    const webhook = await this.get(id);
    if (webhook.isEnabled) return webhook;
    const message = `The webhook ${quoted(id)} is disabled. Enable it, and try again.`;
    throw new StoreError('invalid-request', message);
  }

  /** Changes settings, and who answers for the webhook. Throws `not-found`. */
  async change(id: string, settings: WebhookSettings, owner: Owner | undefined): Promise<void> {
    await this.#update(id, { ...toColumns(settings), owner: owner ? JSON.stringify(owner) : null });
  }

  /**
   * Enables a webhook for future changes: those while it was disabled are not delivered. One that is enabled remains as it is.
   * Throws `not-found`.
   */
  async enable(id: string): Promise<void> {
    const { isEnabled } = await this.get(id);
    if (isEnabled) return;
    const { end } = await this.#changeLog.newest();
    const position = { position_sequence: end.sequence, position_time: end.time };
    await this.#update(id, { enabled: 1, disabled_reason: null, ...position });
  }

  /** Disables a webhook. Pending deliveries fail, and can be repeated later. Throws `not-found`. */
  async disable(id: string, reason: DisabledReason): Promise<void> {
    await this.#database.transaction(async (db) => {
      const disabled = await db
        .updateTable('webhooks')
        .set({ enabled: 0, disabled_reason: reason })
        .where('id', '=', id)
        .returning('id')
        .executeTakeFirst();
      if (!disabled) throw webhookNotFound(id);
      await db
        .updateTable('webhook_deliveries')
        .set({ status: 'failed', next_attempt_at: null, error: DISABLED })
        .where('webhook_id', '=', id)
        .where('status', '=', 'pending')
        .execute();
    });
  }

  /** Replaces the secret, and returns the new one. For a day, both sign. Throws `not-found`. */
  async rotateSecret(id: string): Promise<string> {
    const secret = createSecret();
    const { now } = this.#database.dialect;
    await this.#update(id, {
      secret,
      previous_secret: sql<string>`secret`,
      previous_secret_expires_at: sql<number>`${now} + ${sql.lit(ROTATION_MS)}`,
    });
    return secret;
  }

  /** Removes a webhook and its deliveries. Throws `not-found`. */
  async remove(id: string): Promise<void> {
    const removed = await this.#database.run((db) =>
      db.deleteFrom('webhooks').where('id', '=', id).returning('id').executeTakeFirst(),
    );
    if (!removed) throw webhookNotFound(id);
  }

  async #update(id: string, columns: UpdateObject<Tables, 'webhooks'>): Promise<void> {
    const changed = await this.#database.run((db) =>
      db.updateTable('webhooks').set(columns).where('id', '=', id).returning('id').executeTakeFirst(),
    );
    if (!changed) throw webhookNotFound(id);
    await this.#database.notify(WEBHOOKS_TOPIC);
  }
}

/** The error of a delivery whose webhook was disabled. */
const DISABLED = 'The webhook was disabled before the delivery.';

function toColumns({ url, folder, types, description }: WebhookSettings) {
  return { url, folder, types: types ? JSON.stringify(types) : null, description: description ?? null };
}

function toWebhook(row: Selectable<WebhooksTable>): Webhook {
  const { previous_secret: previous, previous_secret_expires_at: expiresAt } = row;
  return {
    id: row.id,
    url: row.url,
    // Only parsed paths are stored.
    folder: row.folder as FolderPath,
    types: row.types === null ? undefined : (JSON.parse(row.types) as ChangeType[]),
    description: row.description ?? undefined,
    owner: row.owner === null ? undefined : (JSON.parse(row.owner) as Owner),
    isEnabled: row.enabled === 1,
    disabledReason: row.disabled_reason ?? undefined,
    secrets: [row.secret, ...(previous !== null && (expiresAt ?? 0) > Date.now() ? [previous] : [])],
    createdAt: new Date(row.created_at),
  };
}

function tooManyWebhooks(): StoreError {
  const message = `There are already ${MAX_WEBHOOKS} webhooks, the maximum. Remove one that is no longer needed.`;
  return new StoreError('invalid-request', message);
}
