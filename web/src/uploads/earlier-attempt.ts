import { findEntry } from '../service/find-entry.ts';
import type { FileEntry, Service } from '../service/service.ts';

/** An upload attempt with an unknown outcome: its response was lost. */
export interface Attempt {
  /** The name that the attempt stores the file under. */
  readonly name: string;
  /** When the first attempt with this name began, in milliseconds since 1970. */
  readonly since: number;
}

/** Milliseconds: some stores keep whole seconds only, and clocks differ a little. */
const TOLERANCE = 2_000;

/**
 * Returns the file at `path` if an earlier attempt stored it there: it has the size of the sent file, and either the
 * sent file's own modification time, which some stores keep, or one since that attempt. Returns undefined for any
 * other file, and where the listing cannot tell.
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
