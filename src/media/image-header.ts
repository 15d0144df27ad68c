import type { ByteSource } from './byte-source.ts';

/** The header of an image, as its format has it. */
export interface ImageHeader {
  /** Before rotation. */
  readonly width: number;
  /** Before rotation. */
  readonly height: number;
  /** EXIF data, from the header of TIFF on. */
  readonly exif?: ByteSource | undefined;
  /** Whether the format itself has the sides swapped to be upright. Otherwise, the orientation of EXIF decides. */
  readonly isRotated?: boolean;
}
