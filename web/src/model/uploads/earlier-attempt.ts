import { findEntry } from '../../platform/service/pages.ts';
import type { FileEntry, Service } from '../../platform/service/service.ts';

/** An upload attempt with an unknown outcome: its response was lost. */
export interface Attempt {
  /** The name that the attempt stores the file under. */
  readonly name: string;
  /** When the first attempt with this name began, in milliseconds since 1970. */
  readonly since: number;
}

/** Milliseconds of tolerance: some stores keep whole seconds only, and clocks differ slightly. */
const TOLERANCE = 2_000;

/**
 * Returns the file at `path` if an earlier attempt stored it. Its size must match, and its time must be the sent
 * file's modification time or later than that attempt. Returns undefined for any other file, or if the listing does
 * not show it.
 */
export async function storedBefore(
  service: Pick<Service, 'list'>,
  wanted: { readonly path: string; readonly size: number; readonly modified: number; readonly since: number },
  signal: AbortSignal,
): Promise<FileEntry | undefined> {
  const found = await findEntry(service, wanted.path, signal);
  if (found?.type !== 'file' || found.size !== wanted.size || found.modified === null) return undefined;
  const modified = Date.parse(found.modified);
  const isSame = Math.abs(modified - wanted.modified) <= TOLERANCE;
  return isSame || modified >= wanted.since - TOLERANCE ? found : undefined;
}
