import type { ColumnType, Generated } from 'kysely';

/** The webhooks. Times are milliseconds since 1970, by the clock of the database. */
export interface WebhooksTable {
  readonly id: string;
  readonly url: string;
  /** The folder whose changes are delivered; empty for the root. */
  readonly folder: string;
  /** The types of changes that are delivered, as JSON; null for all. */
  readonly types: string | null;
  readonly description: string | null;
  /** The secret of the signatures: it is needed in clear to sign. */
  readonly secret: string;
  /** The secret before the last rotation, which also signs until the time. */
  readonly previous_secret: string | null;
  readonly previous_secret_expires_at: number | null;
  /** The user who answers for the webhook, as JSON: see `Owner`. Null if the operator created it on the command line. */
  readonly owner: string | null;
  /** 1 or 0. */
  readonly enabled: number;
  readonly disabled_reason: 'user' | 'gone' | 'permission' | null;
  /** The position in the log of changes: changes until then have their deliveries. */
  readonly position_sequence: number;
  readonly position_time: number;
  readonly created_at: number;
}

/** The deliveries of webhooks: one request each, and its retries. */
export interface WebhookDeliveriesTable {
  readonly id: string;
  readonly webhook_id: string;
  /** The order of the deliveries of a webhook. */
  readonly sequence: Generated<number>;
  /** The type of the message: that of the change, or `webhook.test`. */
  readonly type: string;
  /** The message, as JSON. */
  readonly body: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: ColumnType<number, number | undefined, number>;
  /** The time from which on the delivery is retried: that of its creation, or of the last request to repeat it. */
  readonly queued_at: number;
  /** The earliest time of the next attempt; null if none follows. */
  readonly next_attempt_at: number | null;
  readonly created_at: number;
  /** The time of the last attempt; null before the first. */
  readonly attempted_at: number | null;
  /** Milliseconds that the last attempt took. */
  readonly duration_ms: number | null;
  /** The status of the response to the last attempt; null if there was none. */
  readonly response_status: number | null;
  /** The beginning of the body of that response. */
  readonly response_excerpt: string | null;
  /** Why the last attempt failed; null if it did not. */
  readonly error: string | null;
}
