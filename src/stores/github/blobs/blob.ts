import { createHash, type Hash } from 'node:crypto';

/** A file as git keeps it: bytes that never change, by the sha of exactly those. */
export interface Blob {
  /** 40 hexadecimal digits. */
  readonly sha: string;
  /** Bytes. */
  readonly size: number;
}

/** The hash whose digest is the sha of a blob of `size` bytes, once it was given those (gitformat-pack). */
export function hashOfBlob(size: number): Hash {
  return createHash('sha1').update(`blob ${size}\0`);
}
