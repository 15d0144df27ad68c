import type { FileEntry, Service } from '../../../platform/service/service.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';

/** The maximum size in bytes of an SVG that the page draws. */
const MAX_SVG_BYTES = 2e6;

/**
 * Returns an SVG that the browser draws quickly; undefined if it is too large or complex. These are the examined bytes:
 * the file can be replaced in the meantime.
 */
export async function readLightSvg(
  service: Pick<Service, 'read'>,
  { path, size }: FileEntry,
  signal: AbortSignal,
): Promise<Blob | undefined> {
  if (size > MAX_SVG_BYTES) return undefined;
  const bytes = await service.read(path, { from: 0, length: MAX_SVG_BYTES, signal });
  const text = new TextDecoder().decode(bytes);
  const isLight = await runJob({ kind: 'svg', text }, signal).catch((error: unknown) => {
    // A text that the worker can't examine in time is not light.
    if (error instanceof WorkerNotLoaded || signal.aborted) throw error;
    return false;
  });
  return isLight ? new Blob([new Uint8Array(bytes)], { type: 'image/svg+xml' }) : undefined;
}
