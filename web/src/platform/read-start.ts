import { chunksOf } from './stream-chunks.ts';

/** Reads a stream until it has at least `length` bytes or ends, and cancels the rest. */
export async function readStart(stream: ReadableStream<Uint8Array<ArrayBuffer>> | null, length: number): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of stream ? chunksOf(stream) : []) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= length) break;
  }
  return new Blob(chunks);
}
