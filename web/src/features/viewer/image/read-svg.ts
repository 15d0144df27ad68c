import type { FileEntry, Service } from '../../../platform/service/service.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import { unzipped } from './unzipped.ts';

/** The maximum size in bytes of an SVG that the page draws. */
const MAX_SVG_BYTES = 2e6;

/** An SVG file, decompressed. */
export interface SvgFile {
  /** The examined bytes: the file can be replaced in the meantime. */
  readonly image: Blob;
  /** Whether browsers draw it quickly. */
  readonly isLight: boolean;
}

/** Reads an SVG, and decompresses one of gzip (`.svgz`). Returns undefined if it is too large, or damaged. */
export async function readSvg(
  service: Pick<Service, 'read'>,
  { path, size }: FileEntry,
  signal: AbortSignal,
): Promise<SvgFile | undefined> {
  if (size > MAX_SVG_BYTES) return undefined;
  const bytes = await unzipped(await service.read(path, { from: 0, length: MAX_SVG_BYTES, signal }), MAX_SVG_BYTES);
  if (!bytes) return undefined;
  const text = new TextDecoder().decode(bytes);
  const isLight = await runJob({ kind: 'svg', text }, signal).catch((error: unknown) => {
    // A text that the worker can't examine in time is not light.
    if (error instanceof WorkerNotLoaded || signal.aborted) throw error;
    return false;
  });
  return { image: new Blob([new Uint8Array(bytes)], { type: 'image/svg+xml' }), isLight };
}
