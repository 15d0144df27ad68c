import { readStart } from '../../../platform/service/content.ts';

/** Returns the bytes, decompressed if they are compressed by gzip; undefined if they are damaged or more than `maxBytes`. */
export async function unzipped(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | undefined> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const content = new Blob([new Uint8Array(bytes)]).stream().pipeThrough(new DecompressionStream('gzip'));
  const start = await readStart(content, maxBytes + 1).catch(() => undefined);
  return start && start.size <= maxBytes ? new Uint8Array(await start.arrayBuffer()) : undefined;
}
