/**
 * Returns the content of this size. It repeats its size, so that every part identifies the content, and a mixture of two
 * contents is invalid.
 */
export function bytesOf(content: number): Buffer {
  return Buffer.alloc(content, `content ${content};`);
}

/** Returns the content that has these bytes at `start`; undefined if none has. */
export function contentOf(bytes: Buffer, start = 0, total = bytes.length): number | undefined {
  return bytesOf(total)
    .subarray(start, start + bytes.length)
    .equals(bytes)
    ? total
    : undefined;
}
