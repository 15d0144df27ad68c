import { freeMemory } from '../domain/free-memory.ts';
import { type DrawApartOptions, drawApart } from './draw-apart.ts';
import { MAX_MEMORY_HERE } from './limits.ts';
import { estimateMemory } from './memory-estimate.ts';
import { RenderError } from './render-error.ts';

/** A render in progress. */
export interface Render {
  /** Settles within the time limit, with a JPEG or a `RenderError`. */
  readonly thumbnail: Promise<Buffer>;
  /** Resolves when nothing of the render runs any more, which may be later. Never rejects. */
  readonly ended: Promise<void>;
}

/**
 * Whether an image must be drawn in a separate process, because drawing it may take much memory or much time. Decided
 * by the image's header alone. Throws `RenderError` if it is not an image.
 */
export function needsProcess(image: Buffer): boolean {
  const memory = estimateMemory(image);
  if (memory === undefined) throw new RenderError('unsupported', 'The file has the signature of no image format.');
  return memory > MAX_MEMORY_HERE;
}

/**
 * Starts to draw the thumbnail of an image, in a separate process if `needsProcess`. The render owns the image and
 * frees its memory, all of its `ArrayBuffer`. `signal` ends a separate process; here, an image is drawn to the end
 * because libvips can't be stopped, which takes seconds at most.
 */
export function startRender(image: Buffer<ArrayBuffer>, options: DrawApartOptions & { isApart: boolean }): Render {
  const drawing = draw(image, options);
  return { thumbnail: withinTime(drawing, options.timeLimit), ended: drawing.then(ignore, ignore) };
}

async function draw(image: Buffer<ArrayBuffer>, options: DrawApartOptions & { isApart: boolean }): Promise<Buffer> {
  try {
    if (options.isApart) return await drawApart(image, options);
    // libvips is loaded with the first image: 50 ms, and 23 MB that a process without one does not hold.
    const { drawThumbnail } = await import('./draw.ts');
    return await drawThumbnail(image, options.timeLimit);
  } finally {
    // Left to the garbage collector, images of a megabyte make it go through the whole heap after every eighth of
    // them: 3 ms of CPU for each thumbnail, beside the 16 of drawing it.
    freeMemory(image);
  }
}

function withinTime(drawing: Promise<Buffer>, timeLimit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const timer = setTimeout(() => reject(new RenderError('too-slow', 'The time is over.')), timeLimit);
  drawing.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

const ignore = () => {};
