import { setImmediate } from 'node:timers/promises';
import type { FilePath, FolderPath } from '../../domain/path.ts';

/**
 * The sorted names of a folder in one buffer: a million names of 20 bytes take 24 MB. As strings they would take three
 * times as much, and the garbage collector would visit each of them.
 */
export interface PackedNames {
  readonly length: number;
  /** Bytes of memory. */
  readonly size: number;
  at(index: number): FilePath | FolderPath | undefined;
  slice(start: number, end: number): (FilePath | FolderPath)[];
}

/** Names that are sorted in one go, which takes some 10 ms. */
const RUN = 16_384;

/**
 * Sorts and packs the names of a folder. Each name is a string with one character for each byte of its UTF-8
 * (`latin1`), because these strings compare by bytes without a function of ours, five times as fast. Other requests get
 * their turn every few milliseconds.
 */
export async function packNames(names: readonly string[]): Promise<PackedNames> {
  let runs: string[][] = [];
  for (let start = 0; start < names.length; start += RUN) {
    if (start > 0) await setImmediate();
    runs.push(names.slice(start, start + RUN).toSorted());
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let index = 0; index < runs.length; index += 2) {
      merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? []));
    }
    runs = merged;
  }
  return pack(runs[0] ?? []);
}

async function merge(left: string[], right: string[]): Promise<string[]> {
  if (right.length === 0) return left;
  const merged: string[] = [];
  let [l, r] = [0, 0];
  let [a, b] = [left[0], right[0]];
  while (a !== undefined || b !== undefined) {
    if (b === undefined || (a !== undefined && a <= b)) {
      if (a !== undefined) merged.push(a);
      a = left[++l];
    } else {
      merged.push(b);
      b = right[++r];
    }
    if (merged.length % RUN === 0) await setImmediate();
  }
  return merged;
}

async function pack(names: readonly string[]): Promise<PackedNames> {
  const ends = new Uint32Array(names.length);
  let size = 0;
  for (const [index, name] of names.entries()) {
    size += name.length;
    ends[index] = size;
  }
  const bytes = Buffer.allocUnsafeSlow(size);
  for (let start = 0; start < names.length; start += RUN) {
    if (start > 0) await setImmediate();
    bytes.write(names.slice(start, start + RUN).join(''), ends[start - 1] ?? 0, 'latin1');
  }
  // Only paths were packed, so only paths come out.
  const at = (index: number) => bytes.toString('utf8', ends[index - 1] ?? 0, ends[index]) as FilePath | FolderPath;
  const { length } = names;
  return {
    length,
    size: size + ends.byteLength,
    at: (index) => (index >= 0 && index < length ? at(index) : undefined),
    slice: (start, end) => Array.from({ length: Math.max(0, Math.min(end, length) - start) }, (_, i) => at(start + i)),
  };
}
