import type { TrashList } from '../../../../src/http/schemas.ts';
import type { FileOperations } from './file-operations.ts';
import type { OperationOptions } from './jobs.ts';
import type { ChangedPath, Service } from './service.ts';

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

type Operator = Pick<FileOperations, 'operate'>;

/** Moves an item out of the trash. Returns its path, which has a number in its name if the original name is taken. */
export function restoreTrashed(service: Operator, id: string, options: OperationOptions): Promise<ChangedPath> {
  const job = { kind: 'restore-from-trash', input: { id } };
  const request = { method: 'POST', body: { onConflict: 'rename' }, job } as const;
  return service.operate(`-/trash/${id}/restore`, request, options);
}

/** Deletes an item permanently. */
export async function purgeTrashed(service: Operator, id: string, options: OperationOptions): Promise<void> {
  const job = { kind: 'delete-from-trash', input: { id } };
  await service.operate(`-/trash/${id}`, { method: 'DELETE', job }, options);
}

/** Deletes permanently all items that the user may delete. Returns their number. */
export async function emptyTrash(service: Operator, options: OperationOptions): Promise<number> {
  const job = { kind: 'empty-trash', input: { folder: '' } };
  const { removed } = await service.operate<{ removed: number }>('-/trash', { method: 'DELETE', job }, options);
  return removed;
}
