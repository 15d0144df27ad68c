import type { TrashList } from '../../../../src/http/schemas.ts';
import type { OperationOptions, Service } from './service.ts';

/*
 * The trash in the HTTP API. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

export type TrashPage = TrashList;
/** A deleted file or folder. `path` is where it was deleted. */
export type TrashedItem = TrashList['entries'][number];

type Sender = Pick<Service, 'send'>;

interface TrashOptions {
  /** Only items from this folder, at any depth. Default: the root. */
  readonly folder?: string;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal;
}

/** Returns a page of the items that the user can see, the newest first. */
export function listTrash(service: Sender, { folder, cursor, signal }: TrashOptions = {}): Promise<TrashPage> {
  const query = { ...(folder !== undefined && { folder }), ...(cursor !== undefined && { cursor }) };
  return service.send('-/trash', { query, signal });
}

/** Moves an item out of the trash. Returns its path, which has a number in its name if the original name is taken. */
export async function restoreTrashed(service: Sender, id: string, options: OperationOptions): Promise<string> {
  const request = { ...options, method: 'POST', body: { onConflict: 'rename' } } as const;
  const { path } = await service.send<{ path: string }>(`-/trash/${id}/restore`, request);
  return path;
}

/** Deletes an item permanently. */
export async function purgeTrashed(service: Sender, id: string, options: OperationOptions): Promise<void> {
  await service.send(`-/trash/${id}`, { ...options, method: 'DELETE' });
}

/** Deletes permanently all items that the user may delete. Returns their number. */
export async function emptyTrash(service: Sender, options: OperationOptions): Promise<number> {
  const { removed } = await service.send<{ removed: number }>('-/trash', { ...options, method: 'DELETE' });
  return removed;
}
