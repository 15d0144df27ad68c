export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The element that shows a picture: a canvas for reduced ones, because their memory can be freed at once. */
export type Surface = HTMLImageElement | HTMLCanvasElement;

/** Returns the size of the picture of an element in its own pixels. */
export function sizeOfPicture(surface: Surface): Size {
  if (surface instanceof HTMLCanvasElement) return { width: surface.width, height: surface.height };
  return { width: surface.naturalWidth, height: surface.naturalHeight };
}
