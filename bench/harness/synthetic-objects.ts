import { createHash } from 'node:crypto';
import { comparePaths } from '../../src/model/path.ts';
import type { Family } from './synthetic-store.ts';

/** An object of the store. Its content is text, or derived from the key with which it was generated. */
export interface StoredObject {
  readonly content: string | Buffer;
  readonly modified: Date;
  readonly type: string;
}

/** The objects of one bucket, in the order of their keys. */
export interface Objects {
  get(key: string): StoredObject | undefined;
  put(key: string, object: StoredObject): void;
  delete(key: string): void;
  /** Returns the first key after `after` (with `inclusive`, also `after` itself) that starts with `prefix`. */
  next(prefix: string, after: string, inclusive: boolean): string | undefined;
}

/**
 * A generated object uses only one bit of memory, for whether it still exists. Its key is computed from its number, and its
 * content from its key. Written objects are kept separately, in short sorted runs.
 */
export function createObjects(families: readonly Family[]): Objects {
  const generated = families.map((family) => ({ family, gone: new Uint8Array(Math.ceil(family.count / 8)) }));
  const written = createRuns();

  const find = (key: string) => {
    for (const { family, gone } of generated) {
      const number = numberOf(family, key);
      if (number !== undefined) return { family, gone, number };
    }
    return undefined;
  };

  return {
    get(key) {
      const object = written.get(key);
      if (object) return object;
      const found = find(key);
      if (!found || isSet(found.gone, found.number)) return undefined;
      return { content: contentOf(found.family, found.number), modified: WRITTEN, type: 'text/plain' };
    },

    put(key, object) {
      written.put(key, object);
    },

    delete(key) {
      written.delete(key);
      const found = find(key);
      if (found) found.gone[found.number >> 3] = (found.gone[found.number >> 3] ?? 0) | (1 << (found.number & 7));
    },

    next(prefix, after, inclusive) {
      const [from, fromIncluded] = comparePaths(after, prefix) < 0 ? [prefix, true] : [after, inclusive];
      let first = written.next(from, fromIncluded);
      for (const { family, gone } of generated) {
        if (!family.prefix.startsWith(prefix) && !prefix.startsWith(family.prefix)) continue;
        const key = nextGenerated(family, gone, from, fromIncluded);
        if (key !== undefined && (first === undefined || comparePaths(key, first) < 0)) first = key;
      }
      return first?.startsWith(prefix) ? first : undefined;
    },
  };
}

/** The MD5 of the content with quotes, as stores return it for uploads in one request. */
export function etagOf({ content }: StoredObject): string {
  return `"${createHash('md5').update(content).digest('hex')}"`;
}

/** A time in the past with whole seconds, the same in every run. */
const WRITTEN = new Date('2026-01-01T00:00:00Z');

/** Objects of a family per folder, if it is not flat. */
const PER_FOLDER = 1000;

/** Returns the key of an object of a family by its number, from 0. Keys and numbers have the same order. */
export function keyOf({ prefix, shape }: Family, number: number): string {
  const name = `object ${String(number).padStart(7, '0')}.txt`;
  if (shape === 'flat') return `${prefix}${name}`;
  return `${prefix}part ${String(Math.floor(number / PER_FOLDER)).padStart(4, '0')}/${name}`;
}

/** Returns the content of an object of a family: the key with which it, or the source of the copy, was generated. */
export function contentOf(family: Family, number: number): string {
  return `${keyOf({ ...family, prefix: family.copyOf ?? family.prefix }, number)}\n`;
}

function numberOf(family: Family, key: string): number | undefined {
  if (!key.startsWith(family.prefix)) return undefined;
  const number = Number(/object (\d{7})\.txt$/.exec(key)?.[1]);
  return number < family.count && keyOf(family, number) === key ? number : undefined;
}

function nextGenerated(family: Family, gone: Uint8Array, from: string, inclusive: boolean): string | undefined {
  // Almost always the key of one of them, after which a listing continues.
  const number = numberOf(family, from);
  let [low, high] = number === undefined ? [0, family.count] : [number, number];
  if (number !== undefined && !inclusive) low++;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = comparePaths(keyOf(family, middle), from);
    if (order > 0 || (order === 0 && inclusive)) high = middle;
    else low = middle + 1;
  }
  // Skips whole bytes of removed objects, so that listing the rest of a million objects does not take seconds.
  while (low < family.count && isSet(gone, low)) low += (low & 7) === 0 && gone[low >> 3] === 0xff ? 8 : 1;
  return low < family.count ? keyOf(family, low) : undefined;
}

const isSet = (bits: Uint8Array, number: number) => ((bits[number >> 3] ?? 0) & (1 << (number & 7))) !== 0;

/** Objects by key, in runs of limited size, so that an insertion takes microseconds. */
const RUN = 512;

function createRuns(): Omit<Objects, 'next'> & { next(from: string, inclusive: boolean): string | undefined } {
  const runs: string[][] = [];
  const objects = new Map<string, StoredObject>();

  /** Returns the run of a key: the last one that does not start after it. */
  const runOf = (key: string) => Math.max(0, firstIndex(runs.length, (index) => isBehind(runs[index]?.[0], key)) - 1);

  return {
    get: (key) => objects.get(key),

    put(key, object) {
      const isNew = !objects.has(key);
      objects.set(key, object);
      if (!isNew) return;
      const at = runOf(key);
      const run = runs[at];
      if (!run) return void runs.push([key]);
      run.splice(
        firstIndex(run.length, (index) => isBehind(run[index], key)),
        0,
        key,
      );
      if (run.length > RUN) runs.splice(at + 1, 0, run.splice(RUN / 2));
    },

    delete(key) {
      if (!objects.delete(key)) return;
      const at = runOf(key);
      const run = runs[at] ?? [];
      run.splice(run.indexOf(key), 1);
      if (run.length === 0) runs.splice(at, 1);
    },

    next(from, inclusive) {
      const at = runOf(from);
      const run = runs[at] ?? [];
      const isNext = (key: string | undefined) => isBehind(key, from) || (inclusive && key === from);
      return run[firstIndex(run.length, (index) => isNext(run[index]))] ?? runs[at + 1]?.[0];
    },
  };
}

const isBehind = (key: string | undefined, other: string) => key !== undefined && comparePaths(key, other) > 0;

/** Returns the first index for which `holds` is true, if it is then true for all later ones; otherwise `count`. */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
