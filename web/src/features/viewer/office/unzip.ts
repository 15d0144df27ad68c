import { Unzip, UnzipInflate } from 'fflate';

/** Maximum number of entries, and of unpacked bytes of the entries that are read together. */
const MAX_ENTRIES = 10_000;
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024;

/** Compressed bytes that are unpacked in one step, so that a bomb is noticed before it fills the memory. */
const STEP_BYTES = 16 * 1024;

/**
 * Unpacks the entries of an archive whose names `isNeeded` accepts, as text. The sizes in the archive are ignored: the bytes
 * are counted while they are unpacked. Throws an `Error` if the archive is invalid or too large.
 */
export function unzipTexts(bytes: Uint8Array, isNeeded: (name: string) => boolean): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  let unpacked = 0;
  let entries = 0;
  const unzip = new Unzip((file) => {
    entries++;
    if (entries > MAX_ENTRIES) throw new Error('The archive has too many entries.');
    if (!isNeeded(file.name) || texts.has(file.name)) return;
    const chunks: Uint8Array[] = [];
    file.ondata = (error, chunk, isLast) => {
      if (error) throw error;
      unpacked += chunk.length;
      if (unpacked > MAX_UNPACKED_BYTES) throw new Error('The content of the archive is too large.');
      chunks.push(chunk);
      if (isLast) texts.set(file.name, decode(chunks));
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    unzip.push(bytes.subarray(at, at + STEP_BYTES), at + STEP_BYTES >= bytes.length);
  }
  return texts;
}

function decode(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join('') + decoder.decode();
}
