/** The largest file that a thumbnail is made of, in bytes. An SVG must also be no larger when it is unpacked. */
export const MAX_SOURCE_SIZE = 50 * 1024 * 1024;

/** Maximum pixels of an image: 100 megapixels. */
export const MAX_PIXELS = 100_000_000;

/** Maximum pixels of an AVIF: 50 megapixels. Its decoder needs 15 to 23 bytes for each, three times any other. */
export const MAX_AVIF_PIXELS = 50_000_000;

/**
 * Bytes that an image may need in the serving process, by estimate. Larger images are drawn in a separate process.
 * Several images may be drawn at once, in each worker: the limit admits a progressive JPEG of 20 megapixels.
 */
export const MAX_MEMORY_HERE = 64 * 1024 * 1024;

/** Maximum memory of one drawing process, in bytes: enough for an AVIF of 50 megapixels. */
export const MAX_DRAWING_MEMORY = 1024 * 1024 * 1024;

/** Minimum limit of a drawing process, in bytes. Node.js and libvips alone take 85 MB. */
export const MIN_DRAWING_MEMORY = 128 * 1024 * 1024;
