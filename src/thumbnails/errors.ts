import { quoted, StoreError, type StoreErrorCode } from '../model/error.ts';
import type { FilePath } from '../model/path.ts';
import type { FileEntry } from '../model/store.ts';
import { MAX_AVIF_PIXELS, MAX_PIXELS, MAX_SOURCE_BYTES } from './limits.ts';
import { programNames, type StillKind } from './programs.ts';

/**
 * Throws `image-too-large` if the file is too large for a thumbnail, and `unsupported-image` if it is empty. Videos can
 * have any size, because only parts of them are read.
 */
export function requireUsableSize({ path, size }: FileEntry, kind: StillKind | undefined): void {
  if (size === 0) {
    throw new StoreError('unsupported-image', `The file ${quoted(path)} is empty, so it has no thumbnail.`);
  }
  if (size > MAX_SOURCE_BYTES && kind !== 'video') {
    const limit = `Thumbnails support files of up to ${MAX_SOURCE_BYTES} bytes (50 MB).`;
    throw new StoreError('image-too-large', `The file ${quoted(path)} has ${size} bytes. ${limit}`);
  }
}

/** Returns the error for a file that only another program can draw, if the server has no such program. */
export function noProgramFor({ path }: FileEntry, kind: StillKind): StoreError {
  const kindName = KIND_NAMES[kind];
  const program = programNames(kind);
  const message =
    `The file ${quoted(path)} is a ${kindName}. This server has no ${program} in a sandbox, which draws ` +
    `thumbnails of ${kindName}s.`;
  return new StoreError('unsupported-image', message);
}

const KIND_NAMES: Readonly<Record<StillKind, string>> = { video: 'video', pdf: 'PDF', heic: 'HEIC image' };

export interface RenderLimits {
  /** Maximum CPU time of the process that draws an image, in milliseconds. */
  readonly cpuTimeMs: number;
  /**
   * Milliseconds until a render is ended that had not enough CPU time to finish. The time that passes depends on the load of the machine, so
   * it says nothing about the image.
   */
  readonly deadlineMs: number;
  /** Bytes. */
  readonly memoryLimitBytes: number;
}

/** Translates a `RenderError` for the user who requested the thumbnail of `file`. Returns any other error unchanged. */
export function asStoreError(error: unknown, file: FilePath, limits: RenderLimits): unknown {
  if (!(error instanceof RenderError)) return error;
  const retryAfter = error.fault === 'overloaded' ? { retryAfter: 5 } : {};
  return new StoreError(ERROR_CODES[error.fault], messageOf(error, quoted(file), limits), {
    cause: error,
    ...retryAfter,
  });
}

const ERROR_CODES: Readonly<Record<RenderFault, StoreErrorCode>> = {
  unsupported: 'unsupported-image',
  'no-still': 'unsupported-image',
  damaged: 'damaged-image',
  'too-many-pixels': 'image-too-large',
  'too-large-unpacked': 'image-too-large',
  'too-much-memory': 'image-too-large',
  'too-slow': 'image-too-complex',
  overloaded: 'thumbnail-failed',
};

function messageOf(
  { fault, dimensions }: RenderError,
  name: string,
  { cpuTimeMs, memoryLimitBytes }: RenderLimits,
): string {
  switch (fault) {
    case 'unsupported':
      return `The file ${name} is not a readable image. ${SUPPORTED_FORMATS}`;
    case 'no-still':
      return `No picture of the file ${name} could be drawn. It is damaged, encrypted or in an unknown format.`;
    case 'damaged':
      return `The image ${name} is damaged or incomplete. Upload it again.`;
    case 'too-many-pixels':
      return `The image ${name} is too large${dimensions ? ` with ${dimensions} pixels` : ''}. ${PIXEL_LIMIT}`;
    case 'too-large-unpacked':
      return `The compressed SVG ${name} is larger than ${MAX_SOURCE_BYTES} bytes (50 MB) after decompression.`;
    case 'too-much-memory':
      return (
        `The image ${name} needs more than ${Math.round(memoryLimitBytes / 2 ** 20)} MiB of ` +
        'memory to draw. Upload it with fewer pixels, or as a JPEG.'
      );
    case 'too-slow':
      return `The image ${name} takes more than ${cpuTimeMs / 1000} seconds of CPU time to draw. Upload a simpler image.`;
    case 'overloaded':
      return `The image ${name} could not be drawn, because the server is busy or out of memory. Try again in a few seconds.`;
  }
}

const SUPPORTED_FORMATS = 'Thumbnails support JPEG, PNG, WebP, GIF, AVIF, TIFF and SVG.';

const PIXEL_LIMIT =
  `Thumbnails support images of up to ${MAX_PIXELS / 1_000_000} megapixels, AVIF images of up to ` +
  `${MAX_AVIF_PIXELS / 1_000_000} megapixels, and SVG images of up to 32,767 pixels per side.`;

/** The conditions of a render failure, apart from the image. */
export interface FailureConditions {
  /** Maximum memory of a child process, in bytes. */
  readonly memoryLimit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Milliseconds for which a failure is cached. The version of an image never changes, so a day only limits the effect of
 * an old decoder version. A slow render can be faster on another machine that shares the cache, so it is retried after a minute. A
 * fault without an entry is not cached, because the image does not cause it.
 */
const FAILURE_TTL_MS: Partial<Readonly<Record<RenderFault, number>>> = {
  unsupported: DAY_MS,
  'no-still': DAY_MS,
  damaged: DAY_MS,
  'too-many-pixels': DAY_MS,
  'too-large-unpacked': DAY_MS,
  'too-much-memory': DAY_MS,
  'too-slow': MINUTE_MS,
};

/** Returns the cache entry for a failure, or undefined if it must not be cached. */
export function encodeFailure(error: RenderError, { memoryLimit, now }: FailureConditions): Buffer | undefined {
  const time = FAILURE_TTL_MS[error.fault];
  if (time === undefined) return undefined;
  return Buffer.from(JSON.stringify({ until: now + time, memoryLimit, error: serializeRenderError(error) }));
}

/** Returns whether a cache entry is a failure. No JPEG, WebP or AVIF begins with `{`. */
export function isFailure(entry: Buffer): boolean {
  return entry[0] === 0x7b;
}

/** Returns the failure in a cache entry, or undefined if it is no longer valid. */
export function decodeFailure(entry: Buffer, { memoryLimit, now }: FailureConditions): RenderError | undefined {
  const parsed: unknown = JSON.parse(entry.toString());
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  if (!('until' in parsed && 'memoryLimit' in parsed && 'error' in parsed)) return undefined;
  if (typeof parsed.until !== 'number' || parsed.until <= now || parsed.memoryLimit !== memoryLimit) return undefined;
  return parseRenderError(String(parsed.error));
}

/** Why no thumbnail can be made of an image. */
export type RenderFault =
  /** The file has no supported image format. */
  | 'unsupported'
  /** The program that draws a video or a PDF can't read the file. */
  | 'no-still'
  /** The format is supported, but no part of the image is readable. */
  | 'damaged'
  /** The image exceeds the limit of pixels. */
  | 'too-many-pixels'
  /** The unpacked size of a compressed file exceeds `MAX_SOURCE_BYTES`. */
  | 'too-large-unpacked'
  /** Drawing exceeds the memory limit of a child process. */
  | 'too-much-memory'
  /** Drawing exceeds the limit of CPU time. */
  | 'too-slow'
  /**
   * The machine has too little CPU time, memory or disk space, or something else ended the process. The image itself might
   * be valid.
   */
  | 'overloaded';

const RENDER_FAULTS: readonly RenderFault[] = [
  'unsupported',
  'no-still',
  'damaged',
  'too-many-pixels',
  'too-large-unpacked',
  'too-much-memory',
  'too-slow',
  'overloaded',
];

/**
 * An expected error of drawing. It does not contain the path of the file. `message` is the message of libvips, for the
 * log.
 */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  readonly fault: RenderFault;
  /** Width × height in pixels, if they are known and exceed the limit. */
  readonly dimensions: string | undefined;

  constructor(fault: RenderFault, message: string, options: { cause?: unknown; dimensions?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.fault = fault;
    this.dimensions = options.dimensions;
  }
}

/** Serializes the error for another process. The text begins with `{`. */
export function serializeRenderError({ fault, message, dimensions }: RenderError): string {
  return JSON.stringify({ fault, message, dimensions });
}

/** Parses the text of `serializeRenderError`. Throws if the text is not valid. */
export function parseRenderError(text: string): RenderError {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed === 'object' && parsed !== null && 'fault' in parsed && isRenderFault(parsed.fault)) {
    const message = 'message' in parsed ? String(parsed.message) : '';
    const dimensions = 'dimensions' in parsed ? String(parsed.dimensions) : undefined;
    return new RenderError(parsed.fault, message, { dimensions });
  }
  throw new TypeError(`Not a serialized RenderError: ${text}`);
}

function isRenderFault(value: unknown): value is RenderFault {
  return RENDER_FAULTS.some((fault) => fault === value);
}
