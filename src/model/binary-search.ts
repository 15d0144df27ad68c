/**
 * Returns the number of leading indices below `length` for which `isBefore` holds, by binary search. `isBefore` must
 * hold for all indices before the result and for none after it.
 */
export function partitionPoint(length: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
