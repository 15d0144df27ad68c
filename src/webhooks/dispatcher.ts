import type { Policy } from '../access/policy.ts';
import type { Position } from '../changes/cursor.ts';
import { type ChangeLog, type LogPage, RESYNC } from '../changes/log.ts';
import { PollLoop } from '../concurrency/poll-loop.ts';
import type { Database } from '../database/database.ts';
import { CHANGES_TOPIC } from '../database/tables/changes.ts';
import type { JobQueue } from '../jobs/queue.ts';
import { isStoreError } from '../model/error.ts';
import type { Deliveries } from './deliveries.ts';
import { DELIVERY_KIND } from './delivery-job.ts';
import { changeMessage } from './messages.ts';
import { isPermitted, selectChanges } from './owner.ts';
import { type Webhook, withoutQuery } from './webhook.ts';
import { type PositionedWebhook, WEBHOOKS_TOPIC, type Webhooks } from './webhooks.ts';

/** Milliseconds between two searches, so that many changes in a short time cost little. */
const MIN_SEARCH_PAUSE_MS = 100;

/** Changes that are read, and whose deliveries are added, at a time. */
const PAGE_SIZE = 200;

/**
 * Pending deliveries of one webhook above which no more are added. Further changes wait in the log, so that an endpoint that
 * is down does not fill the database.
 */
const MAX_PENDING = 10_000;

export interface DispatcherOptions {
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly changeLog: ChangeLog;
  readonly queue: JobQueue;
  readonly policy: () => Policy;
  /** Milliseconds between two searches for changes and due deliveries. Messages make a search start earlier. */
  readonly pollMs: number;
  readonly log: { warn(details: object, message: string): void; error(details: object, message: string): void };
}

/**
 * Turns changes into deliveries, and starts the job of each webhook that has a delivery that is due. Every process runs it:
 * for each page of changes, one of them succeeds in moving the position of the webhook.
 */
export class WebhookDispatcher {
  readonly #database: Database;
  readonly #options: DispatcherOptions;
  readonly #searches: PollLoop;
  #endListening: (() => void) | undefined;

  constructor(database: Database, options: DispatcherOptions) {
    this.#database = database;
    this.#options = options;
    const { pollMs, log } = options;
    this.#searches = new PollLoop((signal) => this.#dispatch(signal), {
      pollMs,
      minPauseMs: MIN_SEARCH_PAUSE_MS,
      failureMessage: 'Webhooks could not be dispatched',
      log,
    });
  }

  start(): void {
    this.#endListening = this.#database.listen((topic) => {
      if (topic === CHANGES_TOPIC || topic === WEBHOOKS_TOPIC) this.#searches.wake();
    });
    this.#searches.start();
  }

  async close(): Promise<void> {
    this.#endListening?.();
    await this.#searches.stop();
  }

  async #dispatch(signal: AbortSignal): Promise<void> {
    if (!this.#database.isAvailable) return;
    const { webhooks, deliveries, changeLog, queue } = this.#options;
    const enabled = await webhooks.listEnabled();
    if (enabled.length === 0) return;
    const { end } = await changeLog.newest();
    for (const each of enabled) {
      if (!(await this.#requirePermission(each.webhook))) continue;
      if (!isSame(each.position, end)) await this.#addDeliveries(each, signal);
    }
    for (const webhook of await deliveries.findDueWebhooks()) {
      await queue.schedule(DELIVERY_KIND, { intervalMs: 0, input: { webhook } });
    }
  }

  /** Disables a webhook whose owner lost the permission to manage the root. Returns whether it remains enabled. */
  async #requirePermission(webhook: Webhook): Promise<boolean> {
    const { webhooks, policy, log } = this.#options;
    if (isPermitted(webhook, policy())) return true;
    await webhooks.disable(webhook.id, 'permission');
    const { id, url, owner } = webhook;
    const details = { webhook: id, url: withoutQuery(url), owner: owner?.user?.name ?? null };
    log.warn(details, 'Webhook disabled: its owner no longer manages the root');
    return false;
  }

  async #addDeliveries({ webhook, position }: PositionedWebhook, signal: AbortSignal): Promise<void> {
    const { deliveries, policy } = this.#options;
    let from = position;
    for (let hasMore = true; hasMore && !signal.aborted; ) {
      if ((await deliveries.countPending(webhook.id, MAX_PENDING)) >= MAX_PENDING) return;
      const page = await this.#read(from);
      const selected = page.changes.flatMap((change) => selectChanges(webhook, change, policy()));
      const messages = selected.map(changeMessage);
      if (!(await deliveries.add(webhook.id, { from, to: page.end, messages }))) return;
      from = page.end;
      hasMore = page.hasMore;
    }
  }

  /** Returns the changes after a position; a `resync` if the log no longer has them. */
  async #read(after: Position): Promise<Pick<LogPage, 'changes' | 'end' | 'hasMore'>> {
    const { changeLog } = this.#options;
    try {
      return await changeLog.read(after, PAGE_SIZE);
    } catch (error) {
      if (!isStoreError(error) || error.code !== 'cursor-expired') throw error;
      const { end, cursor } = await changeLog.newest();
      return { changes: [{ ...RESYNC, id: cursor, time: new Date() }], end, hasMore: false };
    }
  }
}

const isSame = (left: Position, right: Position) => left.sequence === right.sequence && left.time === right.time;
