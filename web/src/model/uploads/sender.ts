import { computed, signal as createSignal, type ReadonlySignal } from '@preact/signals';
import { openSource } from '../../platform/file-handles.ts';
import { isServiceReachable } from '../../platform/service/reachability.ts';
import type { FileEntry, Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import { findStoredFile } from '../lost-responses.ts';
import { pathOf, type QueuedItem, type UncertainAttempt } from './upload-item.ts';

/** Retry delays. After the last one, the upload fails. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000];

/** Delays between two checks whether the service can be reached again. The last one repeats. */
const CHECK_DELAYS_MS = [1_000, 2_000, 4_000, 8_000, 15_000];

/** The maximum delay that the service can request. */
const MAX_RETRY_DELAY_MS = 120_000;

/** The network connection of the device, and delays. */
export interface Connection {
  readonly isOnline: ReadonlySignal<boolean>;
  /** Resolves when the device is online. Rejects with the signal's reason. */
  whenOnline(signal: AbortSignal): Promise<void>;
  /**
   * Resolves after a number of milliseconds, or earlier if the device goes online or wakes up. Rejects with the signal's
   * reason.
   */
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Returns whether the service responds. Never throws. */
  isServiceReachable(): Promise<boolean>;
}

interface SenderOptions {
  readonly service: Pick<Service, 'upload' | 'createFolder' | 'list'>;
  readonly connection: Pick<Connection, 'whenOnline' | 'delay' | 'isServiceReachable'>;
  /** Receives the number of bytes of an item sent so far. */
  readonly onProgress: (item: QueuedItem, bytes: number) => void;
}

/** Sends items to the service, and retries after transient errors. Waits while the service is unreachable. */
export class Sender {
  readonly #options: SenderOptions;
  /** Resolves when the service can be reached again; null while it is reachable as far as known. */
  readonly #outage = createSignal<Promise<void> | null>(null);
  /** Whether the service is unreachable, so that all items wait. */
  readonly isWaiting: ReadonlySignal<boolean> = computed(() => this.#outage.value !== null);
  /** Whether the last item exhausted its retries. The next items are then tried only once. */
  #isDown = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Sends one item. Throws `ServiceError`, or the signal's reason. */
  async send(item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> {
    const { connection, onProgress } = this.#options;
    for (let retries = 0; ; retries++) {
      try {
        await connection.whenOnline(signal);
        await this.#outageEnd(signal);
        const stored = await this.#attempt(item, signal);
        this.#isDown = false;
        return stored;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.status === 0 && !(await isReadable(item.file))) {
          throw unreadable();
        }
        if (error.isUnreachable && (await this.#isServiceDown(signal))) {
          item.problem.value = error;
          await this.#outageEnd(signal);
          item.problem.value = null;
          retries = -1;
          continue;
        }
        const delay = this.#isDown ? undefined : retryDelay(error, retries);
        this.#isDown = error.isTransient && delay === undefined;
        if (delay === undefined) throw error;
        onProgress(item, 0);
        item.problem.value = error;
        await connection.delay(delay, signal);
        item.problem.value = null;
      }
    }
  }

  /** Returns whether the service is unreachable. All items then wait for the end of the outage. */
  async #isServiceDown(signal: AbortSignal): Promise<boolean> {
    const isReachable = this.#outage.peek() === null && (await this.#options.connection.isServiceReachable());
    signal.throwIfAborted();
    if (!isReachable && this.#outage.peek() === null) this.#outage.value = this.#checkUntilReachable();
    return !isReachable;
  }

  /** Resolves when the service can be reached again. */
  async #outageEnd(signal: AbortSignal): Promise<void> {
    const outage = this.#outage.peek();
    if (outage) await unlessAborted(outage, signal);
  }

  async #checkUntilReachable(): Promise<void> {
    const { connection } = this.#options;
    for (let checks = 0; ; checks++) {
      await connection.delay(CHECK_DELAYS_MS[Math.min(checks, CHECK_DELAYS_MS.length - 1)] ?? 0);
      if (await connection.isServiceReachable()) break;
    }
    this.#outage.value = null;
  }

  /** Sends an item once. A name conflict can come from an earlier attempt whose response was lost. */
  async #attempt(item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> {
    const name = item.storedName.value;
    const earlier = item.uncertainAttempt?.name === name ? item.uncertainAttempt : undefined;
    item.uncertainAttempt = earlier ?? { name, since: Date.now() };
    try {
      const stored = await this.#request(item, signal);
      item.uncertainAttempt = undefined;
      return stored;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.isOutcomeUnknown) throw error;
      const stored = error.isNameTaken && earlier ? await this.#findStored(item, earlier, signal) : undefined;
      // Except for a taken name, an error of this attempt leaves the outcome of earlier attempts unknown.
      item.uncertainAttempt = error.isNameTaken ? undefined : earlier;
      if (stored) return { path: stored.path, etag: stored.etag };
      throw error;
    }
  }

  /** Returns the file if an earlier attempt has stored it. */
  #findStored(item: QueuedItem, { since }: UncertainAttempt, signal: AbortSignal): Promise<FileEntry | undefined> {
    const expected = { path: pathOf(item), size: item.size, modified: item.modified, since };
    return findStoredFile(this.#options.service, expected, signal);
  }

  async #request(item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> {
    const { service, onProgress } = this.#options;
    const { folder, kind } = item;
    if (kind === 'folder') {
      const path = pathOf(item);
      const { change } = await service.createFolder(path, signal);
      return { path, etag: '', change };
    }
    item.file ??= await reopen(item);
    return service.upload({
      file: item.file,
      folder,
      name: item.storedName.value,
      replace: item.mayReplace,
      signal,
      onProgress: (bytes) => onProgress(item, bytes),
    });
  }
}

const unreadable = () => new ServiceError(400, 'The file is unreadable.', { code: 'file-unreadable' });

/** Opens a file that was chosen before a reload. Throws `file-unreadable` also if it has changed. */
async function reopen({ source, size, modified }: QueuedItem): Promise<File> {
  const file = source && (await openSource(source).catch(() => undefined));
  if (file?.size !== size || file.lastModified !== modified) throw unreadable();
  return file;
}

/** Returns the milliseconds to wait before the next attempt; undefined if another attempt is useless. */
function retryDelay(error: ServiceError, retries: number): number | undefined {
  const delay = RETRY_DELAYS_MS[retries];
  const requested = (error.retryAfter ?? 0) * 1000;
  if (!error.isTransient || delay === undefined || requested > MAX_RETRY_DELAY_MS) return undefined;
  return Math.max(delay, requested);
}

/** Returns whether a file is readable. Browsers don't report that a request failed because the file changed. */
async function isReadable(file: File | undefined): Promise<boolean> {
  try {
    await file?.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/** Creates the connection. Its listeners stay for the lifetime of the page. */
export function createConnection(): Connection {
  const isOnline = createSignal(navigator.onLine);
  for (const type of ['online', 'offline']) {
    window.addEventListener(type, () => {
      isOnline.value = navigator.onLine;
    });
  }
  return {
    isOnline,
    async whenOnline(signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const unsubscribe = isOnline.subscribe((isNow) => {
        if (isNow) resolve();
      });
      await unlessAborted(promise, signal).finally(unsubscribe);
    },
    async delay(milliseconds, signal) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, milliseconds);
      const wake = () => {
        if (document.visibilityState === 'visible') resolve();
      };
      window.addEventListener('online', wake);
      document.addEventListener('visibilitychange', wake);
      await unlessAborted(promise, signal).finally(() => {
        clearTimeout(timer);
        window.removeEventListener('online', wake);
        document.removeEventListener('visibilitychange', wake);
      });
    },
    isServiceReachable,
  };
}
