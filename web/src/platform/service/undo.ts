import type { Undone } from '../../../../src/http/schemas.ts';
import type { OperationOptions, Service } from './service.ts';

/**
 * Reverses a change in the HTTP API, by its ID. Returns the ID of the undo, which is a change too: undoing it redoes the
 * change. The ID is undefined while the change log is unavailable. Throws `ServiceError`, or the `AbortError` of its signal.
 */
export async function undoChange(
  service: Pick<Service, 'send'>,
  id: string,
  options: OperationOptions = {},
): Promise<string | undefined> {
  const { change } = await service.send<Undone>('-/undo', { ...options, method: 'POST', body: { change: id } });
  return change;
}
