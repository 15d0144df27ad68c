/** Width and height of every thumbnail, in pixels. */
export const THUMBNAIL_SIZE = 320;

/** The widths of previews, in pixels. */
export const PREVIEW_WIDTHS = [320, 640, 1024, 1600, 2560] as const;
export type PreviewWidth = (typeof PREVIEW_WIDTHS)[number];

/** The formats of previews: with effort 0, AVIF takes twice as long as WebP to draw, and has 10 to 35% fewer bytes. */
export const PREVIEW_FORMATS = ['webp', 'avif'] as const;
export type PreviewFormat = (typeof PREVIEW_FORMATS)[number];

/** The square thumbnail of an image: a JPEG that the image fills, with its longer sides cropped. */
interface ThumbnailRendition {
  readonly kind: 'thumbnail';
}

/** The whole image, scaled down to fit into `width` × 2 `width` pixels. */
export interface PreviewRendition {
  readonly kind: 'preview';
  readonly width: PreviewWidth;
  readonly format: PreviewFormat;
}

/** What is drawn of an image. */
export type Rendition = ThumbnailRendition | PreviewRendition;

export const THUMBNAIL: Rendition = { kind: 'thumbnail' };

/** The versions of the drawing, a part of cache keys and ETags. Increase one when the output for an image changes. */
const VERSIONS = { thumbnail: 1, preview: 1 } as const;

/** Returns the name of a rendition, for ETags, cache keys and arguments of child processes: `thumb1`, `preview1-640-webp`. */
export function nameOfRendition(rendition: Rendition): string {
  return rendition.kind === 'thumbnail'
    ? `thumb${VERSIONS.thumbnail}`
    : `preview${VERSIONS.preview}-${rendition.width}-${rendition.format}`;
}

/** Returns the rendition of a name. Throws for any other text. */
export function renditionOfName(name: string): Rendition {
  const rendition = RENDITIONS.get(name);
  if (!rendition) throw new TypeError(`Not a rendition: ${name}`);
  return rendition;
}

const RENDITIONS = new Map(
  [
    THUMBNAIL,
    ...PREVIEW_WIDTHS.flatMap((width) =>
      PREVIEW_FORMATS.map((format): Rendition => ({ kind: 'preview', width, format })),
    ),
  ].map((rendition) => [nameOfRendition(rendition), rendition]),
);

/** Returns the width of the given text; undefined unless previews have it. */
export function parsePreviewWidth(text: string): PreviewWidth | undefined {
  return PREVIEW_WIDTHS.find((width) => String(width) === text);
}

/**
 * Returns how many times smaller the rendition is than an image of this size, which may have to be rotated first. It is
 * at least 1: no rendition is larger than its image. A thumbnail has the shorter side of the image.
 */
export function shrinkOf(rendition: Rendition, { width, height }: { width: number; height: number }): number {
  if (rendition.kind === 'thumbnail') return Math.max(1, Math.min(width, height) / THUMBNAIL_SIZE);
  const [across, down] = [rendition.width, 2 * rendition.width];
  const [upright, rotated] = [Math.max(width / across, height / down), Math.max(height / across, width / down)];
  return Math.max(1, Math.min(upright, rotated));
}
