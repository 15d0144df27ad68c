/** Bytes of a block, and of the blocks that are added at once. */
const BLOCK = 64;
const BUFFER = 64 * 1024;

/** The constants of the 64 steps: the integer parts of sines. */
const SINES = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);

/**
 * The MD5 of content that arrives in chunks (RFC 1321), for a checksum that all object stores verify. Browsers have no
 * function for it.
 */
export class Md5 {
  readonly #state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  readonly #buffer = new Uint8Array(BUFFER);
  /** The same bytes as numbers: all browsers run on little-endian machines, like MD5. */
  readonly #words = new Int32Array(this.#buffer.buffer);
  #filled = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    for (let start = 0; start < bytes.length; ) {
      const part = bytes.subarray(start, start + BUFFER - this.#filled);
      this.#buffer.set(part, this.#filled);
      this.#filled += part.length;
      start += part.length;
      if (this.#filled === BUFFER) this.#addBlocks();
    }
  }

  /** Returns the MD5 in Base64. Call it once. */
  digest(): string {
    const length = this.#length;
    // One bit, zeros, and the length in bits, which completes a block.
    const padding = new Uint8Array(BLOCK - ((length + 8) % BLOCK) + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, (length * 8) % 2 ** 32, true);
    view.setUint32(padding.length - 4, Math.floor(length / 2 ** 29), true);
    this.update(padding);
    this.#addBlocks();
    return btoa(String.fromCharCode(...new Uint8Array(this.#state.buffer)));
  }

  /** Adds the whole blocks in the buffer, which has no others. */
  #addBlocks(): void {
    for (let block = 0; block < this.#filled / 4; block += BLOCK / 4) addBlock(this.#state, this.#words, block);
    this.#filled = 0;
  }
}

/** Adds the block of 16 words at `x` to the state. Local variables make this ten times as fast as arrays. */
function addBlock(state: Int32Array, words: Int32Array, x: number): void {
  const at = (index: number) => words[x + (index & 15)] ?? 0;
  const sine = (step: number) => SINES[step] ?? 0;
  const [a0, b0, c0, d0] = [state[0] ?? 0, state[1] ?? 0, state[2] ?? 0, state[3] ?? 0];
  let [a, b, c, d] = [a0, b0, c0, d0];
  for (let i = 0; i < 16; i += 4) {
    a = (rotate(a + ((b & c) | (~b & d)) + at(i) + sine(i), 7) + b) | 0;
    d = (rotate(d + ((a & b) | (~a & c)) + at(i + 1) + sine(i + 1), 12) + a) | 0;
    c = (rotate(c + ((d & a) | (~d & b)) + at(i + 2) + sine(i + 2), 17) + d) | 0;
    b = (rotate(b + ((c & d) | (~c & a)) + at(i + 3) + sine(i + 3), 22) + c) | 0;
  }
  for (let i = 16; i < 32; i += 4) {
    a = (rotate(a + ((d & b) | (~d & c)) + at(5 * i + 1) + sine(i), 5) + b) | 0;
    d = (rotate(d + ((c & a) | (~c & b)) + at(5 * i + 6) + sine(i + 1), 9) + a) | 0;
    c = (rotate(c + ((b & d) | (~b & a)) + at(5 * i + 11) + sine(i + 2), 14) + d) | 0;
    b = (rotate(b + ((a & c) | (~a & d)) + at(5 * i + 16) + sine(i + 3), 20) + c) | 0;
  }
  for (let i = 32; i < 48; i += 4) {
    a = (rotate(a + (b ^ c ^ d) + at(3 * i + 5) + sine(i), 4) + b) | 0;
    d = (rotate(d + (a ^ b ^ c) + at(3 * i + 8) + sine(i + 1), 11) + a) | 0;
    c = (rotate(c + (d ^ a ^ b) + at(3 * i + 11) + sine(i + 2), 16) + d) | 0;
    b = (rotate(b + (c ^ d ^ a) + at(3 * i + 14) + sine(i + 3), 23) + c) | 0;
  }
  for (let i = 48; i < 64; i += 4) {
    a = (rotate(a + (c ^ (b | ~d)) + at(7 * i) + sine(i), 6) + b) | 0;
    d = (rotate(d + (b ^ (a | ~c)) + at(7 * i + 7) + sine(i + 1), 10) + a) | 0;
    c = (rotate(c + (a ^ (d | ~b)) + at(7 * i + 14) + sine(i + 2), 15) + d) | 0;
    b = (rotate(b + (d ^ (c | ~a)) + at(7 * i + 21) + sine(i + 3), 21) + c) | 0;
  }
  state[0] = a0 + a;
  state[1] = b0 + b;
  state[2] = c0 + c;
  state[3] = d0 + d;
}

/** Returns a sum as 32 bits, rotated to the left. */
function rotate(sum: number, bits: number): number {
  const word = sum | 0;
  return (word << bits) | (word >>> (32 - bits));
}
