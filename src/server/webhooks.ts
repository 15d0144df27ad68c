import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import type { Database } from '../database/database.ts';
import type { Service, WebhookService } from '../http/service.ts';
import type { Metrics } from '../observability/metrics.ts';
import { createAddressPolicy } from '../webhooks/address-policy.ts';
import { Deliveries } from '../webhooks/deliveries.ts';
import { createDeliveryKind } from '../webhooks/delivery-job.ts';
import { WebhookDispatcher } from '../webhooks/dispatcher.ts';
import { Sender } from '../webhooks/sender.ts';
import { Webhooks } from '../webhooks/webhooks.ts';
import type { RunningJobs } from './jobs.ts';

/** Milliseconds between two searches. Messages make a search start earlier. */
const POLL_MS = 2000;

/** The webhooks of the service. */
export interface RunningWebhooks {
  readonly service: WebhookService;
  /** Starts no more requests, and resolves when those in progress have ended. */
  drain(): Promise<void>;
}

export interface WebhookDependencies extends Pick<Service, 'access'> {
  readonly config: Pick<Config, 'WEBHOOK_NETWORKS'>;
  readonly changes: NonNullable<Service['changes']>;
  readonly jobs: RunningJobs;
  readonly metrics: Metrics | undefined;
}

/** Starts the deliveries of this process. They have a runner of their own, so that slow endpoints delay no other jobs. */
export function startWebhooks(
  database: Database,
  { config, access, changes, jobs, metrics }: WebhookDependencies,
  { logger, resources }: { readonly logger: Logger; readonly resources: AsyncDisposableStack },
): RunningWebhooks {
  const log = {
    warn: (details: object, message: string) => logger.warn(details, message),
    error: (details: object, message: string) => logger.error(details, message),
  };
  const closing = new AbortController();
  const changeLog = changes.feed.log;
  const webhooks = new Webhooks(database, changeLog);
  const deliveries = new Deliveries(database);
  const addresses = createAddressPolicy(config.WEBHOOK_NETWORKS ?? []);
  const sender = new Sender({ addresses });
  const policy = () => access.policy();
  const kind = createDeliveryKind({
    webhooks,
    deliveries,
    sender,
    policy,
    closing: closing.signal,
    onAttempt: (outcome) => metrics?.webhookAttempted(outcome),
    log,
  });
  const runner = jobs.startRunner([kind]);
  const dispatcher = new WebhookDispatcher(database, {
    webhooks,
    deliveries,
    changeLog,
    queue: jobs.queue,
    policy,
    pollMs: POLL_MS,
    log,
  });
  resources.defer(() => dispatcher.close());
  resources.defer(() => closing.abort());
  dispatcher.start();
  return {
    service: { webhooks, deliveries, sender, addresses },
    async drain() {
      closing.abort();
      await Promise.all([dispatcher.close(), runner.drain()]);
    },
  };
}
