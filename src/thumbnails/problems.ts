import { quoted, StoreError } from '../domain/error.ts';
import type { FilePath } from '../domain/path.ts';
import type { FileEntry } from '../domain/store.ts';
import { MAX_PIXELS, MAX_SOURCE_SIZE } from './limits.ts';
import { RenderError } from './render-error.ts';

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

/** What a failure to render `file` means to the person who asked; an error that is no `RenderError` stays as it is. */
export function asStoreError(error: unknown, file: FilePath, timeLimit: number): unknown {
  if (!(error instanceof RenderError)) return error;
  const kind = error.fault === 'unsupported' || error.fault === 'damaged' ? 'invalid-request' : 'too-large';
  return new StoreError(kind, textOf(error, quoted(file), timeLimit / 1000), { cause: error });
}

function textOf({ fault, dimensions }: RenderError, name: string, seconds: number): string {
  switch (fault) {
    case 'unsupported':
      return `The file ${name} is not an image that can be read. ${FORMATS}`;
    case 'damaged':
      return `The image ${name} can't be read: it is damaged or incomplete. Upload it again.`;
    case 'too-many-pixels':
      return `The image ${name} is too large${dimensions ? ` with ${dimensions} pixels` : ''}. ${PIXEL_LIMIT}`;
    case 'too-slow':
      return `The image ${name} is too complex: it took longer than ${seconds} seconds to draw, and was given up.`;
  }
}

const FORMATS = 'Thumbnails are made of JPEG, PNG, WebP, GIF, AVIF, TIFF and SVG.';

const PIXEL_LIMIT =
  `Thumbnails are made of images of up to ${MAX_PIXELS / 1_000_000} megapixels, ` +
  'and of an SVG of up to 32,767 pixels a side.';
