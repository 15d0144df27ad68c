import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ViewerState } from '../viewer-tools.ts';
import { type Picture, picturesOf } from './pictures.ts';
import type { Surface } from './surface.ts';

interface PictureElementProps {
  viewer: ViewerState;
  picture: Picture;
  surface: RefObject<Surface | null>;
  isLoaded: boolean;
  name: string;
  class: string;
  style: { transform: string; rotate?: string; scale?: string };
  onLoad: () => void;
  onFail: () => void;
}

/** The element of the picture: a canvas for a reduced one, otherwise an image. */
export function PictureElement({ picture, ...props }: PictureElementProps) {
  return picture.width === undefined ? (
    <Original {...props} picture={picture} />
  ) : (
    <Reduced {...props} picture={picture} />
  );
}

function Original({ picture, surface, isLoaded, name, onLoad, onFail, ...rest }: PictureElementProps) {
  const image = useRef<HTMLImageElement>(null);
  useLayoutEffect(() => {
    const { current } = image;
    surface.current = current;
    // Otherwise the browser finishes the request of a photo that the user skipped.
    return () => {
      if (current?.complete === false) current.removeAttribute('src');
    };
  }, []);
  return (
    <img
      ref={image}
      class={rest.class}
      style={rest.style}
      src={picture.url}
      alt={name}
      // A decoded picture appears in the same frame.
      decoding={isLoaded ? 'sync' : 'auto'}
      draggable={false}
      onLoad={onLoad}
      onError={onFail}
    />
  );
}

function Reduced({ viewer, picture, surface, name, onLoad, onFail, ...rest }: PictureElementProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // Before the browser draws the frame, so that a decoded picture appears in it.
  useLayoutEffect(() => {
    surface.current = canvas.current;
    const pictures = picturesOf(viewer);
    let isCurrent = true;
    const show = () => {
      if (!isCurrent || !canvas.current) return;
      draw(canvas.current, pictures.bitmapOf(picture.url));
      onLoad();
    };
    if (pictures.isReady(picture.url)) show();
    else pictures.load(picture).then(show, () => isCurrent && onFail());
    return () => {
      isCurrent = false;
      pictures.cancel(picture.url);
    };
  }, [picture.url]);
  return <canvas ref={canvas} class={rest.class} style={rest.style} role="img" aria-label={name} />;
}

function draw(canvas: HTMLCanvasElement, bitmap: ImageBitmap | undefined): void {
  if (!bitmap) return;
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0);
}
