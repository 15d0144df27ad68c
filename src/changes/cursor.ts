import { createCipheriv, createDecipheriv } from 'node:crypto';
import { quoted, StoreError } from '../model/error.ts';

/** A position in the log: after the change with this sequence number and time. */
export interface Position {
  readonly sequence: number;
  /** Milliseconds since 1970. Distinguishes changes with the same number, after a backup was restored. */
  readonly time: number;
}

/** The position before the first change. */
export const START: Position = { sequence: 0, time: 0 };

/** One block of AES. Different positions are different blocks, so that ECB reveals nothing, not even how far they are apart. */
const CIPHER = 'aes-128-ecb';
const BLOCK_BYTES = 16;

/** Bytes of each number. Together with the zeros that follow, they fill the block. */
const NUMBER_BYTES = 6;

/** Returns a position as a cursor. Only a database with the same key can read it. */
export function encodeCursor(key: Buffer, position: Position): string {
  return encodeCursors(key, [position]).join('');
}

/** Returns positions as cursors, all encrypted at once: a cipher for each one costs more than reading its row. */
export function encodeCursors(key: Buffer, positions: readonly Position[]): readonly string[] {
  const blocks = Buffer.alloc(positions.length * BLOCK_BYTES);
  for (const [index, { sequence, time }] of positions.entries()) {
    blocks.writeUIntBE(sequence, index * BLOCK_BYTES, NUMBER_BYTES);
    blocks.writeUIntBE(time, index * BLOCK_BYTES + NUMBER_BYTES, NUMBER_BYTES);
  }
  const encrypted = createCipheriv(CIPHER, key, null).setAutoPadding(false).update(blocks);
  return positions.map((_, index) => encrypted.toString('base64url', index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES));
}

/** Returns the position of a cursor; undefined if another database created it. Throws `invalid-cursor` if none did. */
export function decodeCursor(key: Buffer, cursor: string): Position | undefined {
  const encrypted = Buffer.from(cursor, 'base64url');
  if (encrypted.length !== BLOCK_BYTES || encrypted.toString('base64url') !== cursor) {
    throw new StoreError(
      'invalid-cursor',
      `The cursor ${quoted(cursor)} was not issued by the change feed. Read the folder again.`,
    );
  }
  const block = createDecipheriv(CIPHER, key, null).setAutoPadding(false).update(encrypted);
  if (block.readUInt32BE(2 * NUMBER_BYTES) !== 0) return undefined;
  return { sequence: block.readUIntBE(0, NUMBER_BYTES), time: block.readUIntBE(NUMBER_BYTES, NUMBER_BYTES) };
}
