import { readStart } from '../../../platform/read-start.ts';
import { isLightSvg } from './svg-cost.ts';

/** The maximum size in bytes of an SVG that the page draws, compressed and decompressed. */
export const MAX_SVG_BYTES = 2e6;

/** An SVG that was examined. */
export interface ExaminedSvg {
  /** Its bytes, decompressed. */
  readonly bytes: Uint8Array;
  /** Whether browsers draw it quickly. */
  readonly isLight: boolean;
}

/**
 * Decompresses an SVG that gzip compressed (`.svgz`), and examines it. Returns undefined if it is damaged, or has more
 * than `maxBytes`.
 */
export async function examineSvg(file: Uint8Array, maxBytes = MAX_SVG_BYTES): Promise<ExaminedSvg | undefined> {
  const bytes = file[0] === 0x1f && file[1] === 0x8b ? await unzip(file, maxBytes) : file;
  return bytes && { bytes, isLight: isLightSvg(new TextDecoder().decode(bytes)) };
}

async function unzip(file: Uint8Array, maxBytes: number): Promise<Uint8Array | undefined> {
  const content = new Blob([new Uint8Array(file)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const start = await readStart(content, maxBytes + 1).catch(() => undefined);
  return start && start.size <= maxBytes ? new Uint8Array(await start.arrayBuffer()) : undefined;
}
