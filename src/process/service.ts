import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { createFiles } from '../domain/files.ts';
import { buildApp } from '../http/app.ts';
import { BUILT_PAGE, readWebPage, type WebPage } from '../http/page/web-page.ts';
import { observe } from '../layers/observe.ts';
import { readOnly } from '../layers/read-only.ts';
import { retry } from '../layers/retry.ts';
import { type OpenedStore, openStore } from '../stores/create.ts';
import { createThumbnails } from '../thumbnails/thumbnails.ts';

/** The service of one process, listening. */
export interface RunningService {
  /** Where it is reached. */
  readonly url: string;
  /** What it serves, as a person would name it. */
  readonly serves: string;
  /**
   * Takes no new connections, and settles when what was under way has ended, or the time for it is over; says
   * which.
   */
  stop(): Promise<'finished' | 'cut short'>;
}

/** Milliseconds beyond that for giving back what the store and the cache hold: a disk may never answer. */
const RELEASE_TIMEOUT = 3000;

/** Asks of a store that is not available: the first time, and twice more within half a second. */
const RETRIES = { attempts: 3, delay: 100 };

/** Opens the store and listens. Throws an error that a person can act on when either is not possible. */
export async function startService(config: Config, logger: Logger): Promise<RunningService> {
  const page = await readWebPage(BUILT_PAGE);
  const opened = await openStore(config, {
    debug: (message, details) => logger.debug(details, message),
    info: (message, details) => logger.info(details, message),
    warn: (message, details) => logger.warn(details, message),
  });
  try {
    await opened.store.check?.();
    return await serve(opened, page, config, logger);
  } catch (error) {
    await opened.store.close?.();
    throw error;
  }
}

async function serve(opened: OpenedStore, page: WebPage, config: Config, logger: Logger): Promise<RunningService> {
  const retried = opened.retries ? opened.store : retry(opened.store, RETRIES);
  const observed = observe(config.READ_ONLY ? readOnly(retried) : retried, (call) => logger.debug(call, 'store'));
  const files = createFiles(observed, {
    maxUploadSize: config.MAX_UPLOAD_SIZE,
    presignExpires: config.PRESIGN_EXPIRES,
  });
  const thumbnails = createThumbnails({
    files,
    cacheFolder: config.CACHE_DIR ?? opened.cacheFolder,
    cacheSize: config.CACHE_SIZE,
    renders: Math.max(1, Math.floor(availableParallelism() / config.WORKERS)),
    warn: (message, error) => logger.warn({ err: error }, message),
  });
  const app = await buildApp(
    {
      files,
      thumbnails,
      signer: opened.signer,
      page,
      contentOrigins: opened.contentOrigins,
      readOnly: config.READ_ONLY,
      maxUploadSize: config.MAX_UPLOAD_SIZE,
    },
    logger,
  );
  const url = await app.listen({ host: config.HOST, port: config.PORT });

  return {
    url,
    serves: opened.name,
    async stop() {
      const closed = app.close().then(() => 'finished' as const);
      const deadline = new AbortController();
      const late = delay(config.SHUTDOWN_TIMEOUT * 1000, 'cut short' as const, { signal: deadline.signal });
      const outcome = await Promise.race([closed, late.catch(() => 'finished' as const)]);
      deadline.abort();
      if (outcome === 'cut short') app.server.closeAllConnections();
      const released = new AbortController();
      await Promise.race([
        thumbnails
          .close()
          .then(() => opened.store.close?.())
          .finally(() => released.abort()),
        delay(RELEASE_TIMEOUT, undefined, { signal: released.signal }).catch(() => {}),
      ]);
      return outcome;
    },
  };
}
