import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import type { Connection } from './connection.ts';
import { storedBefore } from './earlier-attempt.ts';
import { pathOf, type QueuedItem } from './upload-item.ts';

/** Retry delays in milliseconds. After the last one, the upload fails. */
const PAUSES = [1_000, 2_000, 4_000, 8_000];

/** The maximum delay in milliseconds that the service can request. */
const LONGEST_PAUSE = 120_000;

interface SendingOptions {
  readonly service: Pick<Service, 'upload' | 'createFolder' | 'list'>;
  readonly connection: Pick<Connection, 'online' | 'pause'>;
  readonly onSent: (item: QueuedItem, bytes: number) => void;
}

/**
 * Returns a function that sends one item and retries after transient errors. It throws `ServiceError`, or the
 * signal's reason.
 */
export function createSending({ service, connection, onSent }: SendingOptions) {
  /** Whether the last item exhausted its retries. The next items are then tried only once. */
  let isDown = false;

  const send = async (item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> => {
    const { file, folder } = item;
    if (file === undefined) {
      await service.createFolder(`${pathOf(item)}/`, signal);
      return { path: `${pathOf(item)}/`, etag: '' };
    }
    const onProgress = (bytes: number) => onSent(item, bytes);
    const replace = item.mayReplace;
    return service.upload({ file, folder, name: item.storedName.value, replace, signal, onProgress });
  };

  /** Sends the item once. A name conflict may come from an earlier attempt whose response was lost. */
  const attempt = async (item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> => {
    const name = item.storedName.value;
    const earlier = item.unanswered?.name === name ? item.unanswered : undefined;
    item.unanswered = earlier ?? { name, since: Date.now() };
    try {
      const stored = await send(item, signal);
      item.unanswered = undefined;
      return stored;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.isLost) throw error;
      const modified = item.file?.lastModified ?? Number.NaN;
      const wanted = { path: pathOf(item), size: item.size, modified, since: earlier?.since ?? 0 };
      const ours = error.isNameTaken && earlier ? await storedBefore(service, wanted, signal) : undefined;
      // Except for a taken name, an error of this attempt leaves the outcome of earlier attempts unknown.
      item.unanswered = error.isNameTaken ? undefined : earlier;
      if (ours) return { path: ours.path, etag: ours.etag };
      throw error;
    }
  };

  return async (item: QueuedItem, signal: AbortSignal): Promise<UploadedFile> => {
    for (let pauses = 0; ; pauses++) {
      try {
        await connection.online(signal);
        const stored = await attempt(item, signal);
        isDown = false;
        return stored;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (error.status === 0 && !(await isReadable(item.file))) {
          throw new ServiceError(400, 'The file is unreadable.', { code: 'file-unreadable' });
        }
        const pause = PAUSES[pauses];
        if (!error.isPassing) isDown = false;
        if (!error.isPassing || isDown || pause === undefined || (error.retryAfter ?? 0) * 1000 > LONGEST_PAUSE) {
          isDown = error.isPassing;
          throw error;
        }
        onSent(item, 0);
        item.problem.value = error;
        await connection.pause(Math.max(pause, (error.retryAfter ?? 0) * 1000), signal);
        item.problem.value = null;
      }
    }
  };
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
