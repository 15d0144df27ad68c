import { findEntry } from '../platform/service/pages.ts';
import type { FileEntry, Service } from '../platform/service/service.ts';

/** The file that a request stores, if the service completes it. */
export interface ExpectedFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** When the first attempt began, in milliseconds since 1970. Undefined for a move, which keeps the file's time. */
  readonly since?: number;
  /** The modification time of an uploaded file, in milliseconds since 1970. Some stores keep it. */
  readonly modified?: number;
}

/**
 * Milliseconds by which a stored time can be earlier than the browser's clock: some stores keep whole or even seconds,
 * and clocks differ slightly. The tolerance is small, because a file of another user within it would count as stored.
 * A file outside it only leads to an unnecessary question about a name conflict.
 */
const CLOCK_TOLERANCE_MS = 2_000;

/**
 * Returns the stored file if the service completed a request whose response was lost: the size must match, and the time
 * must not be earlier than the request. Throws like `findEntry`.
 */
export async function findStoredFile(
  service: Pick<Service, 'list'>,
  { path, size, since = Number.NEGATIVE_INFINITY, modified = Number.NaN }: ExpectedFile,
  signal?: AbortSignal,
): Promise<FileEntry | undefined> {
  const found = await findEntry(service, path, signal);
  if (found?.type !== 'file' || found.size !== size) return undefined;
  const storedAt = found.modified === null ? Number.NEGATIVE_INFINITY : Date.parse(found.modified);
  const hasSentTime = Math.abs(storedAt - modified) <= CLOCK_TOLERANCE_MS;
  return hasSentTime || storedAt >= since - CLOCK_TOLERANCE_MS ? found : undefined;
}
