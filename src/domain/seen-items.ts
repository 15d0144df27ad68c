import { hash } from 'node:crypto';

/**
 * The items of one listing, each as a hash of its path and version: 8 bytes for each, however many there are. Two items
 * share a hash once in 2^48, and then one that was not listed counts as listed.
 */
export class SeenItems {
  #hashes = new Float64Array(64);
  #size = 0;
  #isSorted = true;

  get size(): number {
    return this.#size;
  }

  add(path: string, version: string): void {
    if (this.#size === this.#hashes.length) {
      const larger = new Float64Array(2 * this.#size);
      larger.set(this.#hashes);
      this.#hashes = larger;
    }
    this.#hashes[this.#size++] = hashOf(path, version);
    this.#isSorted = false;
  }

  has(path: string, version: string): boolean {
    const hashes = this.#hashes.subarray(0, this.#size);
    if (!this.#isSorted) hashes.sort();
    this.#isSorted = true;
    const wanted = hashOf(path, version);
    let [from, to] = [0, hashes.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((hashes[middle] ?? 0) < wanted) from = middle + 1;
      else to = middle;
    }
    return hashes[from] === wanted;
  }
}

const hashOf = (path: string, version: string): number =>
  hash('sha256', `${path}\0${version}`, 'buffer').readUIntBE(0, 6);
