/**
 * Returns the options of an `LRUCache` with at most `count` entries. The option `max` would allocate memory for all
 * entries in advance; these options don't.
 */
export function maxEntries(count: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
