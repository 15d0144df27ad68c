import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type Size, type Surface, sizeOfPicture } from './surface.ts';

export interface ZoomControl {
  readonly zoom: Signal<Zoom>;
  /** Whether the last change was a step, which is animated. Changes by gestures are not. */
  readonly isStep: Signal<boolean>;
  /** Zooms by a factor around the centre. */
  readonly step: (factor: number) => void;
  readonly fit: () => void;
  readonly move: (by: Point) => void;
  /** Returns the displayed size relative to the natural size. */
  readonly percentage: (zoom: Zoom) => number;
}

/**
 * Zooms and moves an image in its stage by wheel, touch, dragging and double clicks. `original` is the size of the file if the
 * image has fewer pixels.
 */
export function useZoom(
  stage: RefObject<HTMLElement | null>,
  image: RefObject<Surface | null>,
  original: Size | undefined,
): ZoomControl {
  const size = useRef(original);
  size.current = original;
  const zoom = useSignal(FITTED);
  const isStep = useSignal(false);
  const control = useMemo<ZoomControl & ZoomGestures>(() => {
    const change = (make: (zoom: Zoom, frame: Frame) => Zoom, step: boolean) => {
      const frame = frameOf(stage.current, image.current, size.current);
      if (!frame) return;
      isStep.value = step;
      zoom.value = make(zoom.peek(), frame);
    };
    return {
      zoom,
      isStep,
      step: (factor) => change((now, frame) => zoomedBy(now, factor, { x: 0, y: 0 }, frame), true),
      fit: () => change(() => FITTED, true),
      move: (by) => change((now, frame) => movedBy(now, by, frame), true),
      percentage({ scale }) {
        const frame = frameOf(stage.current, image.current, size.current);
        return frame && frame.natural.width > 0 ? (scale * frame.fitted.width) / frame.natural.width : scale;
      },
      zoomAndMove: (factor, point, by) =>
        change((now, frame) => movedBy(zoomedBy(now, factor, point, frame), by, frame), false),
      toggle: (point) =>
        change((now, frame) => {
          const factor = naturalScale(frame) > 1.1 ? naturalScale(frame) : 2;
          return now.scale > 1 ? FITTED : zoomedBy(now, factor, point, frame);
        }, true),
    };
  }, []);
  useEffect(() => (stage.current ? listen(stage.current, control) : undefined), []);
  return control;
}

interface ZoomGestures {
  readonly zoom: Signal<Zoom>;
  readonly zoomAndMove: (factor: number, point: Point, by: Point) => void;
  readonly toggle: (point: Point) => void;
}

function frameOf(stage: HTMLElement | null, image: Surface | null, original: Size | undefined): Frame | undefined {
  if (!stage || !image) return undefined;
  return {
    stage: { width: stage.clientWidth, height: stage.clientHeight },
    fitted: layoutSizeOf(image),
    natural: original ?? sizeOfPicture(image),
  };
}

/** Returns the size of an element without its transformation, to fractions of a pixel. */
function layoutSizeOf(element: HTMLElement): Size {
  const { width, height } = getComputedStyle(element);
  return { width: Number.parseFloat(width), height: Number.parseFloat(height) };
}

/** Returns a function that removes the listeners. */
function listen(stage: HTMLElement, { zoom, zoomAndMove, toggle }: ZoomGestures): () => void {
  const listening = new AbortController();
  const options = { signal: listening.signal };
  const fingers = new Map<number, Point>();
  const still = { x: 0, y: 0 };
  const fromMiddle = ({ x, y }: Point): Point => {
    const box = stage.getBoundingClientRect();
    return { x: x - box.left - box.width / 2, y: y - box.top - box.height / 2 };
  };

  stage.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      // Pinching on a touchpad arrives as a wheel event with Ctrl, in smaller steps.
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
      zoomAndMove(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.002)), fromMiddle(event), still);
    },
    { ...options, passive: false },
  );
  stage.addEventListener('dblclick', (event) => toggle(fromMiddle(event)), options);

  stage.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, event);
      // One finger swipes to the next file, except on an enlarged image, which it moves.
      if (zoom.peek().scale > 1) event.stopPropagation();
      if (zoom.peek().scale > 1 || fingers.size > 1) stage.setPointerCapture(event.pointerId);
    },
    options,
  );
  stage.addEventListener(
    'pointermove',
    (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      fingers.set(event.pointerId, event);
      const [other] = others;
      if (other) {
        const by = { x: (event.x - before.x) / 2, y: (event.y - before.y) / 2 };
        const middle = { x: (before.x + other.x) / 2, y: (before.y + other.y) / 2 };
        zoomAndMove(distance(event, other) / Math.max(1, distance(before, other)), fromMiddle(middle), by);
      } else if (zoom.peek().scale > 1) {
        zoomAndMove(1, still, { x: event.x - before.x, y: event.y - before.y });
      }
    },
    options,
  );
  const lift = ({ pointerId }: PointerEvent) => void fingers.delete(pointerId);
  stage.addEventListener('pointerup', lift, options);
  stage.addEventListener('pointercancel', lift, options);
  return () => listening.abort();
}

const distance = (one: Point, other: Point) => Math.hypot(one.x - other.x, one.y - other.y);

/*
 * The position of an image in its stage: the scale relative to the fitted size, and the offset from the centre in
 * pixels.
 */
export interface Zoom {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

const FITTED: Zoom = { scale: 1, x: 0, y: 0 };

/** The sizes of an image and of its stage in pixels. */
interface Frame {
  readonly stage: Size;
  /** The size at which the whole image is visible. */
  readonly fitted: Size;
  /** The size in image pixels. */
  readonly natural: Size;
}

/** Returns the scale at which an image pixel is a CSS pixel. */
function naturalScale({ fitted, natural }: Frame): number {
  return fitted.width > 0 ? Math.max(1, natural.width / fitted.width) : 1;
}

/** Zooms by a factor. The image point at `point`, relative to the centre of the stage, keeps its position. */
export function zoomedBy(zoom: Zoom, factor: number, point: Point, frame: Frame): Zoom {
  const scale = Math.min(Math.max(1, zoom.scale * factor), Math.max(8, 4 * naturalScale(frame)));
  const ratio = scale / zoom.scale;
  return contained({ scale, x: point.x - (point.x - zoom.x) * ratio, y: point.y - (point.y - zoom.y) * ratio }, frame);
}

function movedBy({ scale, x, y }: Zoom, by: Point, frame: Frame): Zoom {
  return contained({ scale, x: x + by.x, y: y + by.y }, frame);
}

/** Limits the offset, so that an enlarged image covers the stage. */
function contained({ scale, x, y }: Zoom, { stage, fitted }: Frame): Zoom {
  const across = Math.max(0, (fitted.width * scale - stage.width) / 2);
  const down = Math.max(0, (fitted.height * scale - stage.height) / 2);
  return { scale, x: Math.min(across, Math.max(-across, x)), y: Math.min(down, Math.max(-down, y)) };
}
