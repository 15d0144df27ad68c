import type { Undone } from '../../../../src/http/schemas.ts';
import { type Progress, requestOperation } from './operation-request.ts';
import type { Service } from './service.ts';

interface UndoOptions {
  readonly signal: AbortSignal | undefined;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * Reverses a change in the HTTP API, by its ID. Returns the ID of the undo, which is a change too: undoing it redoes the
 * change. The ID is undefined while the change log is unavailable. Throws `ServiceError`, or the `AbortError` of its signal.
 */
export async function undoChange(
  service: Pick<Service, 'send'>,
  id: string,
  { signal, onProgress }: UndoOptions,
): Promise<string | undefined> {
  const { change } = await service.send<Undone>('-/undo', {
    method: 'POST',
    body: { change: id },
    signal,
    request: (url, options) => requestOperation(url, { ...options, onProgress }),
  });
  return change;
}
