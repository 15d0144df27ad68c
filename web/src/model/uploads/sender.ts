import { signal as createSignal, type ReadonlySignal } from '@preact/signals';
import type { FileEntry, Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import { findStoredFile } from '../lost-responses.ts';
import { pathOf, type QueuedItem, type UncertainAttempt } from './upload-item.ts';

/** Retry delays. After the last one, the upload fails. */
const RETRY_DELAYS_MS = [1_000, 2_000, 4_000, 8_000];

/** The maximum delay that the service can request. */
const MAX_RETRY_DELAY_MS = 120_000;

/** The network connection of the device, and delays. */
export interface Connection {
  readonly isOnline: ReadonlySignal<boolean>;
  /** Resolves when the device is online. Rejects with the signal's reason. */
  whenOnline(signal: AbortSignal): Promise<void>;
  /** Resolves after a number of milliseconds. Rejects with the signal's reason. */
  delay(milliseconds: number, signal: AbortSignal): Promise<void>;
}

interface SenderOptions {
  readonly service: Pick<Service, 'upload' | 'createFolder' | 'list'>;
  readonly connection: Pick<Connection, 'whenOnline' | 'delay'>;
  /** Receives the number of bytes of an item sent so far. */
  readonly onProgress: (item: QueuedItem, bytes: number) => void;
}

/** Sends items to the service, and retries after transient errors. */
export class Sender {
  readonly #options: SenderOptions;
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
        const stored = await this.#attempt(item, signal);
        this.#isDown = false;
        return stored;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.status === 0 && !(await isReadable(item.file))) {
          throw new ServiceError(400, 'The file is unreadable.', { code: 'file-unreadable' });
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
    const expected = { path: pathOf(item), size: item.size, modified: item.file?.lastModified ?? Number.NaN, since };
    return findStoredFile(this.#options.service, expected, signal);
  }

  async #request(item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> {
    const { service, onProgress } = this.#options;
    const { file, folder } = item;
    if (file === undefined) {
      const path = pathOf(item);
      const { change } = await service.createFolder(path, signal);
      return { path, etag: '', change };
    }
    return service.upload({
      file,
      folder,
      name: item.storedName.value,
      replace: item.mayReplace,
      signal,
      onProgress: (bytes) => onProgress(item, bytes),
    });
  }
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
      await unlessAborted(promise, signal).finally(() => clearTimeout(timer));
    },
  };
}
