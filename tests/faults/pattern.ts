import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

export const MIB = 1024 * 1024;

const BLOCK = randomBytes(MIB);

/** Returns one block of the file. All blocks are different. The next call overwrites it. */
export function block(index: number): Buffer {
  BLOCK.writeUInt32BE(index);
  return BLOCK;
}

/** Asserts that a stream has exactly `length` bytes of the file, from `start`. */
export async function assertPattern(bytes: Readable, start: number, length: number): Promise<void> {
  let position = start;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    for (let done = 0; done < chunk.length; ) {
      const within = position % MIB;
      const part = chunk.subarray(done, done + MIB - within);
      const expected = block(Math.floor(position / MIB)).subarray(within, within + part.length);
      assert.ok(part.equals(expected), `The bytes at ${position} are others.`);
      done += part.length;
      position += part.length;
    }
  }
  assert.equal(position - start, length);
}
