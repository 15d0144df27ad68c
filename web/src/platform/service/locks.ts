import type { LockDescription, LockList } from '../../../../src/http/schemas.ts';
import type { Service } from './service.ts';

/*
 * Locks of WebDAV clients in the HTTP API. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

/** A lock of a file or folder. */
export type Lock = LockDescription;

type Sender = Pick<Service, 'send'>;

/** Returns the locks of a folder, of the folders that contain it, and of its entries. The page asks for them by itself. */
export async function listLocks(service: Sender, folder: string, signal: AbortSignal): Promise<readonly Lock[]> {
  const { locks } = await service.send<LockList>('-/locks', { query: { folder }, signal, isBackground: true });
  return locks;
}

/** Ends a lock, so that its client can no longer save. */
export async function releaseLock(service: Sender, id: string): Promise<void> {
  await service.send(`-/locks/${encodeURIComponent(id)}`, { method: 'DELETE' });
}
