/*
 * How an image lies in its stage: enlarged by `scale` from the size at which all of it is seen, and moved by pixels of
 * the window from the middle.
 */
export interface Zoom {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export const FITTED: Zoom = { scale: 1, x: 0, y: 0 };

/** An image and the stage that it lies in. */
export interface Frame {
  readonly stage: Size;
  /** At which all of it is seen. */
  readonly fitted: Size;
  /** Its own. */
  readonly natural: Size;
}

/** The scale at which each pixel of the image is one of the window. */
export function naturalScale({ fitted, natural }: Frame): number {
  return fitted.width > 0 ? Math.max(1, natural.width / fitted.width) : 1;
}

/** Enlarges by a factor, with the point of the image that is at `point` (from the stage's middle) staying there. */
export function zoomedBy(zoom: Zoom, factor: number, point: Point, frame: Frame): Zoom {
  const scale = Math.min(Math.max(1, zoom.scale * factor), Math.max(8, 4 * naturalScale(frame)));
  const ratio = scale / zoom.scale;
  return contained({ scale, x: point.x - (point.x - zoom.x) * ratio, y: point.y - (point.y - zoom.y) * ratio }, frame);
}

export function movedBy({ scale, x, y }: Zoom, by: Point, frame: Frame): Zoom {
  return contained({ scale, x: x + by.x, y: y + by.y }, frame);
}

/** Moved back as far as an edge of the image has come inside of the stage, with room left beside it. */
function contained({ scale, x, y }: Zoom, { stage, fitted }: Frame): Zoom {
  const across = Math.max(0, (fitted.width * scale - stage.width) / 2);
  const down = Math.max(0, (fitted.height * scale - stage.height) / 2);
  return { scale, x: Math.min(across, Math.max(-across, x)), y: Math.min(down, Math.max(-down, y)) };
}
