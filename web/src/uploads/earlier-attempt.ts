import { findEntry } from '../service/find-entry.ts';
import type { FileEntry, Service } from '../service/service.ts';

/** An attempt to store a file of which nobody knows how it ended. */
export interface Attempt {
  /** The name that the file was to have. */
  readonly name: string;
  /** When the first attempt of this name began, in milliseconds since 1970. */
  readonly since: number;
}

/** Milliseconds: some stores tell whole seconds alone, and clocks differ a little. */
const TOLERANCE = 2_000;

/**
 * The file that is at a path, where it is what an earlier attempt stored there: as large as the file that was sent, and
 * not older than the attempt. Undefined where it is another one, or where that can't be told.
 */
export async function storedBefore(
  service: Pick<Service, 'list'>,
  wanted: { readonly path: string; readonly size: number; readonly since: number },
  signal: AbortSignal,
): Promise<FileEntry | undefined> {
  const found = await findEntry(service, wanted.path, signal);
  if (found?.type !== 'file' || found.size !== wanted.size || found.modified === null) return undefined;
  return Date.parse(found.modified) >= wanted.since - TOLERANCE ? found : undefined;
}
