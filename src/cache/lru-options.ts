/**
 * Returns the options of an `LRUCache` of at most so many entries. `max` would allocate memory for all of them at once;
 * this starts empty.
 */
export function maxEntries(count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
