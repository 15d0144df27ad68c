import { createPolicy, OPEN_POLICY, PERMISSIONS, type Policy } from '../../src/access/policy.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { JobQueue } from '../../src/jobs/queue.ts';
import { JobRunner } from '../../src/jobs/runner.ts';
import { parseFolder, ROOT } from '../../src/model/path.ts';
import { createAddressPolicy } from '../../src/webhooks/address-policy.ts';
import { Deliveries } from '../../src/webhooks/deliveries.ts';
import { createDeliveryKind } from '../../src/webhooks/delivery-job.ts';
import { WebhookDispatcher } from '../../src/webhooks/dispatcher.ts';
import { nextStep } from '../../src/webhooks/retries.ts';
import { Sender } from '../../src/webhooks/sender.ts';
import { Webhooks } from '../../src/webhooks/webhooks.ts';
import { LEASE_MS, OPTIONS } from '../jobs/contract.ts';

/** The tables of webhooks on an open database. */
export interface OpenedTables {
  readonly database: Database;
  readonly changeLog: ChangeLog;
  readonly queue: JobQueue;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly sender: Sender;
}

export async function openTables(location: DatabaseLocation): Promise<OpenedTables> {
  const database = new Database(await openEngine(location));
  await database.start();
  const changeLog = new ChangeLog(database);
  return {
    database,
    changeLog,
    queue: new JobQueue(database, { leaseMs: LEASE_MS }),
    webhooks: new Webhooks(database, changeLog),
    deliveries: new Deliveries(database),
    sender: new Sender({ addresses: createAddressPolicy(['loopback']) }),
  };
}

export interface DeliveringOptions {
  readonly policy?: () => Policy;
  /** Attempts after which a delivery has failed. The delays between them are short. Default: 2 */
  readonly maxAttempts?: number;
}

/** Starts the deliveries of one process. Returns a function that ends them. */
export function startDelivering(
  { database, queue, ...tables }: OpenedTables,
  { policy = () => OPEN_POLICY, maxAttempts = 2 }: DeliveringOptions = {},
): () => Promise<void> {
  const closing = new AbortController();
  const { log } = OPTIONS;
  const kind = createDeliveryKind({
    ...tables,
    policy,
    closing: closing.signal,
    log,
    decide(delivery, sent) {
      const next = nextStep(delivery, sent);
      if ('status' in next) return next;
      return delivery.attempts + 1 >= maxAttempts ? { status: 'failed' } : { retryMs: 20 };
    },
  });
  const runner = new JobRunner(queue, database, [kind], { ...OPTIONS, maxRunning: 4 });
  const dispatcher = new WebhookDispatcher(database, { ...tables, queue, policy, pollMs: 50, log });
  runner.start();
  dispatcher.start();
  return async () => {
    closing.abort();
    await dispatcher.close();
    await runner.close();
  };
}

/** A policy whose grants let Ann manage the root, and read everything except `closed/`. `hasAnn`: whether it has that user. */
export function policyOfAnn({ hasAnn }: { readonly hasAnn: boolean }): Policy {
  const to = { kind: 'person', name: 'ann' } as const;
  return createPolicy(hasAnn ? [{ name: 'ann', password: undefined, groups: [], tokens: [] }] : [], [
    { folder: ROOT, to, permissions: PERMISSIONS },
    { folder: parseFolder('closed'), to, permissions: [] },
  ]);
}
