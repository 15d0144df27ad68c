/**
 * Frees the memory that bytes are in at once, with all that is in it, and leaves them empty. What is left to be collected
 * as garbage counts until then, and has V8 look through its whole heap again and again, for a few buffers.
 */
export function freeMemory({ buffer }: Buffer): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
