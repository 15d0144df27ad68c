import { mediaTypeOf } from '../../../platform/file-kinds.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import { escapePath, type Urls } from '../../../platform/service/urls.ts';
import { contentUrl } from '../content-url.ts';
import type { ViewerState } from '../viewer-tools.ts';
import type { Size } from './surface.ts';

/** The picture of an image file that the viewer shows before the user zooms in. */
export interface Picture {
  readonly url: string;
  /** The width in pixels that larger originals are reduced to; undefined for the original. */
  readonly width: number | undefined;
}

/** Formats that the service reduces without losing an animation. */
const REDUCED_TYPES = /^image\/(p?jpeg|jpg|tiff|avif|hei[cf])$/;
/** Formats that can be animated. A reduced picture is still, so smaller files are shown as they are. */
const SOMETIMES_ANIMATED = /^image\/(a?png|x-png|webp)$/;
const MIN_REDUCED_BYTES = 256e3;
const MIN_REDUCED_ANIMATED_BYTES = 2e6;
/** The maximum size of a file that the service reduces. */
const MAX_REDUCED_BYTES = 50e6;
/** Formats that few browsers show, so that a failure does not mean a damaged file. */
const RARELY_SUPPORTED = /^image\/(tiff|hei[cf]|jxl)\b/i;

/** Returns whether few browsers show the format. */
export function isRarelySupported({ contentType }: FileEntry): boolean {
  return RARELY_SUPPORTED.test(contentType);
}

/** Returns the picture that covers the window, as the service reduces it, or the original of files without one. */
export function pictureOf(urls: Urls, entry: FileEntry): Picture {
  if (!isReduced(entry)) return { url: contentUrl(urls, entry), width: undefined };
  const width = widthForWindow();
  return { url: previewUrl(urls, entry, width), width };
}

export function previewUrl(urls: Urls, { path, etag }: FileEntry, width: number): string {
  return urls.endpoint(`-/preview/${escapePath(path)}`, { width: String(width), v: etag });
}

function isReduced(entry: FileEntry): boolean {
  const type = mediaTypeOf(entry.contentType);
  if (entry.size > MAX_REDUCED_BYTES) return false;
  if (isRarelySupported(entry)) return REDUCED_TYPES.test(type);
  if (REDUCED_TYPES.test(type)) return entry.size >= MIN_REDUCED_BYTES;
  return SOMETIMES_ANIMATED.test(type) && entry.size >= MIN_REDUCED_ANIMATED_BYTES;
}

/** The steps of the service for whole windows, in pixels. */
const [SMALL, LARGE] = [1600, 2560] as const;
/** The aspect ratio of the widest common photos. A lower window shows them with less width. */
const WIDEST = 16 / 9;

function widthForWindow(): number {
  const { innerWidth, innerHeight, devicePixelRatio } = window;
  return Math.min(innerWidth, innerHeight * WIDEST) * devicePixelRatio <= SMALL ? SMALL : LARGE;
}

/** Returns whether the picture can have fewer pixels than the file. */
export function isSmaller({ width: limit }: Picture, { width, height }: Size): boolean {
  return limit !== undefined && (width >= limit || height >= 2 * limit);
}

const byViewer = new WeakMap<ViewerState, DecodedPictures>();

/** Returns the pictures of a viewer. They are released when it closes. */
export function picturesOf(viewer: ViewerState): DecodedPictures {
  const known = byViewer.get(viewer);
  if (known) return known;
  const pictures = new DecodedPictures();
  byViewer.set(viewer, pictures);
  viewer.closed.addEventListener('abort', () => pictures.keep([]), { once: true });
  return pictures;
}

interface KeptPicture {
  /** Rejects if the picture can't be shown, or is released before. */
  readonly ready: Promise<void>;
  isReady: boolean;
  /** Undefined for an original. */
  bitmap: ImageBitmap | undefined;
  readonly release: () => void;
}

/**
 * Holds the decoded pictures around the shown one, so that the next one appears at once, and releases all others. Browsers keep
 * the pixels of image elements for an unknown time, so reduced pictures are bitmaps, which are closed.
 */
class DecodedPictures {
  readonly #kept = new Map<string, KeptPicture>();

  isReady(url: string): boolean {
    return this.#kept.get(url)?.isReady === true;
  }

  bitmapOf(url: string): ImageBitmap | undefined {
    return this.#kept.get(url)?.bitmap;
  }

  /** Resolves when the picture is decoded. */
  async load(picture: Picture, priority: 'high' | 'low' = 'high'): Promise<void> {
    const { url, width } = picture;
    const known = this.#kept.get(url);
    if (known) return known.ready;
    const kept = width === undefined ? keepImage(url) : keepBitmap(url, priority);
    this.#kept.set(url, kept);
    try {
      await kept.ready;
    } catch (error) {
      // It can be loaded again.
      if (this.#kept.get(url) === kept) this.#kept.delete(url);
      throw error;
    }
  }

  /** Loads these pictures, and releases those that are not among them. */
  keep(wanted: readonly Picture[]): void {
    for (const url of this.#kept.keys()) if (!wanted.some((picture) => picture.url === url)) this.#release(url);
    // The preview reports failures.
    for (const picture of wanted) this.load(picture, 'low').catch(() => {});
  }

  /** Releases a picture that is still loading. */
  cancel(url: string): void {
    if (!this.isReady(url)) this.#release(url);
  }

  #release(url: string): void {
    this.#kept.get(url)?.release();
    this.#kept.delete(url);
  }
}

/** The browser keeps the picture of an element while the element exists. */
function keepImage(url: string): KeptPicture {
  const image = new Image();
  image.src = url;
  const kept: KeptPicture = {
    isReady: false,
    bitmap: undefined,
    ready: image.decode().then(() => void (kept.isReady = true)),
    // This also cancels its request.
    release: () => image.removeAttribute('src'),
  };
  return kept;
}

function keepBitmap(url: string, priority: 'high' | 'low'): KeptPicture {
  const releasing = new AbortController();
  const decode = async () => {
    const response = await fetch(url, { signal: releasing.signal, priority });
    if (!response.ok) throw new Error(`${response.status} ${url}`);
    const bitmap = await createImageBitmap(await response.blob());
    if (releasing.signal.aborted) bitmap.close();
    releasing.signal.throwIfAborted();
    kept.bitmap = bitmap;
    kept.isReady = true;
  };
  const kept: KeptPicture = {
    isReady: false,
    bitmap: undefined,
    ready: decode(),
    release() {
      releasing.abort();
      kept.bitmap?.close();
    },
  };
  return kept;
}
