/** The largest file that a thumbnail is made of, in bytes. */
export const MAX_SOURCE_SIZE = 50 * 1024 * 1024;

/** The most pixels that are decoded: 100 megapixels. */
export const MAX_PIXELS = 100_000_000;
