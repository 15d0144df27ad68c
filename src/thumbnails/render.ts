import { freeMemory } from '../domain/free-memory.ts';
import { drawApart } from './draw-apart.ts';
import { RenderError } from './render-error.ts';

export interface RenderOptions {
  /** Milliseconds. */
  readonly timeLimit: number;
  readonly signal?: AbortSignal;
}

/** A thumbnail in the making. */
export interface Render {
  /** Settles within the time limit, with a JPEG or a `RenderError`. */
  readonly thumbnail: Promise<Buffer>;
  /** Resolves when nothing of the render runs any more, which may be later. Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Starts to draw the thumbnail of an image, which is the render's from now on: its memory, all of an `ArrayBuffer`, is
 * taken back as soon as nothing needs it. `signal` ends the render of an SVG; any other image is drawn to the end,
 * because nothing stops libvips in this process. That end is near: every format but SVG has 100 megapixels decoded
 * within seconds.
 */
export function startRender(image: Buffer<ArrayBuffer>, options: RenderOptions): Render {
  const drawing = mayBeSvg(image) ? drawApart(image, options) : drawHere(image, options.timeLimit);
  return { thumbnail: withinTime(drawing, options.timeLimit), ended: drawing.then(ignore, ignore) };
}

/** libvips is loaded with the first image: 50 ms, and 23 MB that a process without one does not hold. */
async function drawHere(image: Buffer<ArrayBuffer>, timeLimit: number): Promise<Buffer> {
  const { drawThumbnail } = await import('./draw.ts');
  try {
    return await drawThumbnail(image, timeLimit);
  } finally {
    // Left to the garbage collector, images of a megabyte make it go through the whole heap after every eighth of
    // them: 3 ms of CPU for each thumbnail, beside the 16 of drawing it.
    freeMemory(image);
  }
}

/**
 * Whether libvips could take an image for an SVG. It looks for `<svg` in the first thousand bytes, and into what is
 * compressed; so wide a net catches other files too, which are drawn apart as well as here.
 */
function mayBeSvg(image: Buffer): boolean {
  const compressed = image[0] === 0x1f && image[1] === 0x8b;
  return compressed || /<svg/i.test(image.toString('latin1', 0, 1000));
}

function withinTime(drawing: Promise<Buffer>, timeLimit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(new RenderError('too-slow', 'The time is over.')), timeLimit);
  drawing.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

const ignore = () => {};
