import { drawThumbnail } from './draw.ts';
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
 * Starts to draw the thumbnail of an image. `signal` ends the render of an SVG; any other image is drawn to the end,
 * because nothing stops libvips in this process. That end is near: every format but SVG has 100 megapixels decoded
 * within seconds.
 */
export function startRender(image: Buffer, options: RenderOptions): Render {
  const drawing = mayBeSvg(image) ? drawApart(image, options) : drawThumbnail(image, options.timeLimit);
  return { thumbnail: withinTime(drawing, options.timeLimit), ended: drawing.then(ignore, ignore) };
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
