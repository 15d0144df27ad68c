import { createCipheriv, createHash } from 'node:crypto';

/** A file of the load. A number determines its bytes, so that none are kept in memory. */
export interface SoakFile {
  readonly path: string;
  readonly bytes: number;
  readonly seed: number;
}

/** Returns the bytes of a file. They differ for each number. */
export function contentOf({ bytes, seed }: Pick<SoakFile, 'bytes' | 'seed'>): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32BE(seed);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}

export function isContentOf(file: Pick<SoakFile, 'bytes' | 'seed'>, found: Buffer, from = 0, to = file.bytes): boolean {
  return contentOf(file).subarray(from, to).equals(found);
}

/** Returns numbers from 0 to below 1, the same in every run. */
export function createChance(seed: number): () => number {
  let count = 0;
  return () => createHash('md5').update(`${seed} ${count++}`).digest().readUInt32BE() / 2 ** 32;
}
