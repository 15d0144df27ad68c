/** Reads parts of a file that can be larger than the memory. */
export interface ByteSource {
  /**
   * Returns the bytes from `offset`, as many as there are of `length`. Returns an empty buffer beyond the end of the
   * file, and for a part that exceeds the limits of the source.
   */
  bytes(offset: number, length: number): Buffer | Promise<Buffer>;
}

/** Returns a source of bytes in memory. */
export function bufferSource(buffer: Buffer): ByteSource {
  return { bytes: (offset, length) => buffer.subarray(offset, offset + length) };
}

/** Returns a source that begins at `start` of another one. */
export function sourceFrom(source: ByteSource, start: number): ByteSource {
  return { bytes: (offset, length) => source.bytes(start + offset, length) };
}

/**
 * Bytes of the first read. The headers of photos end before: EXIF data has at most 64 KiB in a JPEG, and the dimensions
 * follow it.
 */
const FIRST_BLOCK_BYTES = 128 * 1024;

/** Bytes of any other read: the offset of data decides where it begins. */
const BLOCK_BYTES = 64 * 1024;

/** Maximum number of reads, so that a hostile file can't cause a request for each of a thousand parts. */
const MAX_READS = 6;

/** Reads the bytes from `start` to `end`, inclusive, of the version of a file. */
export type RangeReader = (range: { readonly start: number; readonly end: number }) => Promise<Buffer>;

/** Returns a source of a file of `size` bytes, which is read in at most `MAX_READS` blocks of bounded size. */
export function fileSource(read: RangeReader, size: number): ByteSource {
  const blocks: { readonly start: number; readonly bytes: Buffer }[] = [];
  let reads = 0;

  const find = (offset: number, length: number) => {
    const block = blocks.find(({ start, bytes }) => start <= offset && offset + length <= start + bytes.length);
    return block?.bytes.subarray(offset - block.start, offset - block.start + length);
  };

  return {
    async bytes(offset, wanted) {
      const length = Math.min(wanted, BLOCK_BYTES, size - offset);
      if (!(offset >= 0 && length > 0)) return Buffer.alloc(0);
      const known = find(offset, length);
      if (known) return known;
      if (reads === MAX_READS) return Buffer.alloc(0);
      reads++;
      const isFirst = blocks.length === 0 && offset < FIRST_BLOCK_BYTES - BLOCK_BYTES;
      const start = isFirst ? 0 : offset;
      const end = Math.min(size, start + (isFirst ? FIRST_BLOCK_BYTES : BLOCK_BYTES)) - 1;
      blocks.push({ start, bytes: await read({ start, end }) });
      return find(offset, length) ?? Buffer.alloc(0);
    },
  };
}
