import { type ErrorKind, quoted, StoreError } from '../domain/error.ts';
import type { FilePath } from '../domain/path.ts';
import type { FileEntry } from '../domain/store.ts';
import { MAX_AVIF_PIXELS, MAX_PIXELS, MAX_SOURCE_SIZE } from './limits.ts';
import { RenderError, type RenderFault } from './render-error.ts';

/** Throws unless a thumbnail can be made of a file of this size: `too-large`, or `invalid-request` for an empty one. */
export function requireUsableSize({ path, size }: FileEntry): void {
  if (size === 0) {
    throw new StoreError('invalid-request', `The file ${quoted(path)} is empty: there is no image in it.`);
  }
  if (size > MAX_SOURCE_SIZE) {
    const limit = `Thumbnails are made of files of up to ${MAX_SOURCE_SIZE} bytes (50 MB).`;
    throw new StoreError('too-large', `The file ${quoted(path)} has ${size} bytes. ${limit}`);
  }
}

export interface RenderLimits {
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Bytes. */
  readonly memoryLimit: number;
}

/** Translates a `RenderError` for the user who requested the thumbnail of `file`. Returns any other error unchanged. */
export function asStoreError(error: unknown, file: FilePath, limits: RenderLimits): unknown {
  if (!(error instanceof RenderError)) return error;
  const kind = KINDS[error.fault] ?? 'too-large';
  const retryAfter = kind === 'unavailable' ? { retryAfter: 5 } : {};
  return new StoreError(kind, textOf(error, quoted(file), limits), { cause: error, ...retryAfter });
}

const KINDS: Partial<Readonly<Record<RenderFault, ErrorKind>>> = {
  unsupported: 'invalid-request',
  damaged: 'invalid-request',
  killed: 'unavailable',
};

function textOf({ fault, dimensions }: RenderError, name: string, { timeLimit, memoryLimit }: RenderLimits): string {
  switch (fault) {
    case 'unsupported':
      return `The file ${name} is not an image that can be read. ${FORMATS}`;
    case 'damaged':
      return `The image ${name} can't be read: it is damaged or incomplete. Upload it again.`;
    case 'too-many-pixels':
      return `The image ${name} is too large${dimensions ? ` with ${dimensions} pixels` : ''}. ${PIXEL_LIMIT}`;
    case 'too-large-unpacked':
      return `The compressed SVG ${name} is larger than ${MAX_SOURCE_SIZE} bytes (50 MB) when it is unpacked.`;
    case 'too-much-memory':
      return (
        `The image ${name} is too large: drawing it takes more than ${Math.round(memoryLimit / 2 ** 20)} MiB of ` +
        'memory. Upload it with fewer pixels, or as a JPEG.'
      );
    case 'too-slow':
      return `The image ${name} is too complex: it took longer than ${timeLimit / 1000} seconds to draw, and was given up.`;
    case 'killed':
      return `The image ${name} could not be drawn: the server may be out of memory. Try again in a few seconds.`;
  }
}

const FORMATS = 'Thumbnails are made of JPEG, PNG, WebP, GIF, AVIF, TIFF and SVG.';

const PIXEL_LIMIT =
  `Thumbnails are made of images of up to ${MAX_PIXELS / 1_000_000} megapixels, of an AVIF of up to ` +
  `${MAX_AVIF_PIXELS / 1_000_000} megapixels, and of an SVG of up to 32,767 pixels a side.`;
