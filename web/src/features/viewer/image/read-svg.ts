import type { FileEntry, Service } from '../../../platform/service/service.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import { type ExaminedSvg, MAX_SVG_BYTES } from './examine-svg.ts';

/** Reads and examines an SVG. Returns undefined if it is too large, damaged, or can't be examined in time. */
export async function readSvg(
  service: Pick<Service, 'read'>,
  { path, size }: FileEntry,
  signal: AbortSignal,
): Promise<ExaminedSvg | undefined> {
  if (size > MAX_SVG_BYTES) return undefined;
  const bytes = await service.read(path, { from: 0, length: MAX_SVG_BYTES, signal });
  return runJob({ kind: 'svg', bytes }, signal).catch((error: unknown) => {
    if (error instanceof WorkerNotLoaded || signal.aborted) throw error;
    return undefined;
  });
}
