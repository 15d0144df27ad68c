import { Type } from 'typebox';
import type { Policy } from '../access/policy.ts';
import { concurrently } from '../concurrency/concurrently.ts';
import { defineKind, type JobKind } from '../jobs/job.ts';
import { undefinedIfNotFound } from '../model/error.ts';
import { throttleLog } from '../observability/log-throttle.ts';
import type { Deliveries } from './deliveries.ts';
import { canSeeMessage, isPermitted } from './owner.ts';
import { GONE, nextStep } from './retries.ts';
import type { Sender, SentMessage } from './sender.ts';
import { type Delivery, type Webhook, withoutQuery } from './webhook.ts';
import type { Webhooks } from './webhooks.ts';

/** The kind of the job that sends the deliveries of one webhook. */
export const DELIVERY_KIND = 'deliver-webhook';

/** Maximum requests to one webhook at a time. */
const CONCURRENCY = 4;

/** Deliveries that are read at a time. */
const BATCH_SIZE = 50;

/** Milliseconds after which a job ends although more deliveries are due, so that the jobs of other webhooks get their turn. */
const TURN_MS = 20_000;

/** How an attempt ended. */
export type AttemptOutcome = 'delivered' | 'retried' | 'failed';

export interface DeliveryOptions {
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly sender: Sender;
  readonly policy: () => Policy;
  /** Aborts when the process stops. Attempts in progress are completed. */
  readonly closing: AbortSignal;
  /** Decides what follows an attempt. Default: `nextStep` */
  readonly decide?: typeof nextStep;
  readonly onAttempt?: (outcome: AttemptOutcome) => void;
  readonly log: { warn(details: object, message: string): void };
}

/**
 * Creates the kind of the job that sends what is due for one webhook. As each webhook has one job, one process sends its
 * messages at a time, and a slow endpoint delays only its own. If the process is killed, the next one sends messages without
 * a stored outcome again.
 */
export function createDeliveryKind(options: DeliveryOptions): JobKind {
  const warn = throttleLog((failures, details: object) =>
    options.log.warn({ failures, ...details }, 'Webhook delivery failed'),
  );
  return defineKind({
    name: DELIVERY_KIND,
    input: Type.Object({ webhook: Type.String() }),
    async run({ webhook: id }, { signal }) {
      const deadline = performance.now() + TURN_MS;
      const isEnding = () => signal.aborted || options.closing.aborted || performance.now() > deadline;
      while (!isEnding()) {
        const webhook = await findActive(id, options);
        const due = webhook ? await options.deliveries.findDue(id, BATCH_SIZE) : [];
        if (!webhook || due.length === 0) break;
        await sendBatch(webhook, due, { ...options, signal, isEnding, warn });
      }
      await options.deliveries.expire(id);
      return {};
    },
  });
}

/** Returns the webhook if it exists, is enabled, and its owner has the permission. */
async function findActive(id: string, { webhooks, policy }: DeliveryOptions): Promise<Webhook | undefined> {
  const webhook = await undefinedIfNotFound(webhooks.get(id));
  return webhook?.isEnabled && isPermitted(webhook, policy()) ? webhook : undefined;
}

interface BatchOptions extends DeliveryOptions {
  readonly signal: AbortSignal;
  readonly isEnding: () => boolean;
  /** Logs a failed attempt. */
  readonly warn: (details: object) => void;
}

async function sendBatch(webhook: Webhook, due: readonly Delivery[], options: BatchOptions): Promise<void> {
  let isGone = false;
  async function* untilEnding() {
    for (const delivery of due) if (!isGone && !options.isEnding()) yield delivery;
  }
  await concurrently(untilEnding(), CONCURRENCY, async (delivery) => {
    isGone = (await sendOne(webhook, delivery, options)) === GONE || isGone;
  });
  if (!isGone) return;
  await options.webhooks.disable(webhook.id, 'gone');
  options.log.warn(detailsOf(webhook), 'Webhook disabled: its endpoint responded with 410');
}

/** Sends one delivery, and stores how that ended. Returns the status of the response, if there was one. */
async function sendOne(webhook: Webhook, delivery: Delivery, options: BatchOptions): Promise<number | undefined> {
  const { deliveries, sender, signal, decide = nextStep, onAttempt, warn } = options;
  const isVisible = canSeeMessage(delivery, webhook.owner, options.policy());
  const sent = isVisible ? await sender.send(webhook, delivery, signal) : withheld();
  const next = isVisible ? decide(delivery, sent) : ({ status: 'failed' } as const);
  await deliveries.record(delivery, sent, next);
  const outcome = 'status' in next ? next.status : 'retried';
  onAttempt?.(outcome);
  if (outcome !== 'delivered') {
    const attempt = { delivery: delivery.id, attempt: delivery.attempts + 1, reason: sent.error };
    warn({ ...detailsOf(webhook), ...attempt, isRetried: outcome === 'retried' });
  }
  return sent.response?.status;
}

/** Returns the outcome of a message that is not sent. */
const withheld = (): SentMessage => ({
  time: new Date(),
  durationMs: 0,
  response: undefined,
  retryAfter: undefined,
  error: 'The owner of the webhook has no permission to read the files of this message.',
});

const detailsOf = ({ id, url }: Webhook) => ({ webhook: id, url: withoutQuery(url) });
