import type { Logger } from 'pino';
import { ExternalChanges } from '../changes/external-changes.ts';
import { ChangeFeed } from '../changes/feed.ts';
import { ChangeLog } from '../changes/log.ts';
import { ChangeRecorder } from '../changes/recorder.ts';
import type { Config } from '../config/settings.ts';
import type { Database } from '../database/database.ts';
import type { Service } from '../http/service.ts';
import type { Store } from '../model/store.ts';
import type { Metrics } from '../observability/metrics.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Maximum changes in the log: some 200 MB. */
const MAX_CHANGES = 1_000_000;

const RECORDER = { beatMs: 5000, timeoutMs: 20_000, expiryMs: 10 * 60_000 };

/** Heartbeats are more frequent than the idle timeouts of common proxies, 30 seconds and more. */
const FEED = { pollMs: 2000, heartbeatMs: 15_000, drainMs: 10_000 };

export interface ChangesOptions {
  readonly config: Pick<Config, 'CHANGES_DAYS' | 'WATCH_CHANGES'>;
  readonly store: Store;
  readonly metrics: Metrics | undefined;
  /** The share links, which follow the changes. */
  readonly links: { follow(): Promise<unknown> };
}

/** Starts the recording of changes, and the feed for subscribers. `resources` ends both. */
export async function startChanges(
  database: Database,
  { config, store, metrics, links }: ChangesOptions,
  { logger, resources }: { readonly logger: Logger; readonly resources: AsyncDisposableStack },
): Promise<NonNullable<Service['changes']>> {
  const log = {
    info: (details: object, message: string) => logger.info(details, message),
    warn: (details: object, message: string) => logger.warn(details, message),
    error: (details: object, message: string) => logger.error(details, message),
  };
  const changeLog = new ChangeLog(database);
  const retention = { ageMs: config.CHANGES_DAYS * DAY_MS, maxChanges: MAX_CHANGES };
  const external = new ExternalChanges(store, changeLog, { record: (changes) => recorder.record(changes), log });
  const onBeat = async (isOldest: boolean) => {
    if (config.WATCH_CHANGES) external.setActive(isOldest);
    await links.follow();
  };
  const recorder = new ChangeRecorder(changeLog, database, { ...RECORDER, retention, onBeat, log });
  resources.defer(() => recorder.close());
  resources.defer(() => external.close());
  await recorder.start();
  const feed = new ChangeFeed(changeLog, database, {
    ...FEED,
    onSubscribersChanged: (count) => metrics?.setChangeSubscribers(count),
    log,
  });
  resources.defer(() => feed.close());
  feed.start();
  return { recorder, feed, identify: store.identify };
}
