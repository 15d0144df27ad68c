import type { ChangeList } from '../../../../src/http/schemas.ts';
import { isFolderPath } from '../paths.ts';
import type { Service } from './service.ts';

interface ListOptions {
  /** `newest`, or the cursor or the ID of a change of the previous page. */
  readonly before: string;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Returns a page of the changes of a file or folder, of everything in it and of what contains it, the newest first. Throws
 * `ServiceError`, or the `AbortError` of its signal.
 */
export function listChanges(
  service: Pick<Service, 'send'>,
  path: string,
  { before, limit, signal }: ListOptions,
): Promise<ChangeList> {
  const scope = isFolderPath(path) ? 'folder' : 'file';
  return service.send('-/changes', { query: { [scope]: path, before, limit: String(limit) }, signal });
}
