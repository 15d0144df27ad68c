/** Reads a stream until it has at least `length` bytes or ends, and cancels the rest. */
export async function readStart(stream: ReadableStream<Uint8Array<ArrayBuffer>> | null, length: number): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  const reader = stream?.getReader();
  try {
    for (let size = 0; reader && size < length; ) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.length;
    }
  } finally {
    await reader?.cancel();
  }
  return new Blob(chunks);
}
