/**
 * The bytes of the content of this size: they say it over and over again, so that every part of them tells whose they
 * are, and a mixture or a part of two contents is none.
 */
export function bytesOf(content: number): Buffer {
  return Buffer.alloc(content, `content ${content};`);
}

/** Which content the bytes are, from `start` on where they are a part; undefined where they are of none, or of several. */
export function contentOf(bytes: Buffer, start = 0, total = bytes.length): number | undefined {
  return bytesOf(total)
    .subarray(start, start + bytes.length)
    .equals(bytes)
    ? total
    : undefined;
}
