import type { ServiceOptions } from './service.ts';
import { rememberedUrls, rememberUrl, type UploadKey } from './upload-memory.ts';
import { PROTOCOL, readProgress } from './upload-parts.ts';

/** A file whose upload can be unfinished. */
export type FileKey = Omit<UploadKey, 'endpoint'>;

/** Where this browser begins uploads, and where it remembers them. */
export interface UploadOrigin extends Pick<ServiceOptions, 'storage'> {
  readonly endpoint: string;
}

/**
 * What the service has of a file. `absent`: its upload has not begun. `ended`: its upload is complete, was cancelled or has
 * expired. `unfinished`: `offset` bytes have arrived, or an unknown number if the service does not respond.
 */
export type UploadState =
  | { readonly state: 'absent' | 'ended' }
  | { readonly state: 'unfinished'; readonly offset: number | undefined };

/** Milliseconds after which the number of bytes counts as unknown. */
const TIMEOUT_MS = 30_000;

/** Returns what the service has of each file, in the same order. Never throws. */
export function readUploadStates(
  { endpoint, storage }: UploadOrigin,
  files: readonly FileKey[],
): Promise<readonly UploadState[]> {
  const urlOf = rememberedUrls(storage);
  return Promise.all(
    files.map(async (file): Promise<UploadState> => {
      const key = { ...file, endpoint };
      const url = urlOf(key);
      if (url === undefined) return { state: 'absent' };
      try {
        const progress = await readProgress(url, AbortSignal.timeout(TIMEOUT_MS));
        if (progress && !progress.file) return { state: 'unfinished', offset: progress.offset };
        rememberUrl(storage, key, undefined);
        return { state: 'ended' };
      } catch {
        return { state: 'unfinished', offset: undefined };
      }
    }),
  );
}

/** Cancels the upload of a file at the service, if it has begun. Without a response, the service removes it when it expires. */
export function discardUpload({ endpoint, storage }: UploadOrigin, file: FileKey): void {
  const key = { ...file, endpoint };
  const url = rememberedUrls(storage)(key);
  if (url === undefined) return;
  rememberUrl(storage, key, undefined);
  void fetch(url, { method: 'DELETE', headers: PROTOCOL }).catch(() => {});
}
