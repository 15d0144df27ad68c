import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';

export interface ZoomControl {
  readonly zoom: Signal<Zoom>;
  /** Whether the last change was a step, which is shown as a movement; a gesture is followed at once. */
  readonly isStep: Signal<boolean>;
  /** Enlarges by a factor about the middle. */
  readonly step: (factor: number) => void;
  readonly fit: () => void;
  readonly move: (by: Point) => void;
  /** The part of the image's own size that it is shown at. */
  readonly percentage: (zoom: Zoom) => number;
}

/** Zooms and moves an image in its stage, by the wheel, by fingers, by dragging and by double clicks. */
export function useZoom(stage: RefObject<HTMLElement | null>, image: RefObject<HTMLImageElement | null>): ZoomControl {
  const zoom = useSignal(FITTED);
  const isStep = useSignal(false);
  const control = useMemo<ZoomControl & ZoomGestures>(() => {
    const change = (make: (zoom: Zoom, frame: Frame) => Zoom, step: boolean) => {
      const frame = frameOf(stage.current, image.current);
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
        const frame = frameOf(stage.current, image.current);
        return frame && frame.natural.width > 0 ? (scale * frame.fitted.width) / frame.natural.width : scale;
      },
      follow: (factor, point, by) =>
        change((now, frame) => movedBy(zoomedBy(now, factor, point, frame), by, frame), false),
      toggle: (point) =>
        change((now, frame) => {
          const wanted = naturalScale(frame) > 1.1 ? naturalScale(frame) : 2;
          return now.scale > 1 ? FITTED : zoomedBy(now, wanted, point, frame);
        }, true),
    };
  }, []);
  useEffect(() => (stage.current ? listen(stage.current, control) : undefined), []);
  return control;
}

interface ZoomGestures {
  readonly zoom: Signal<Zoom>;
  readonly follow: (factor: number, point: Point, by: Point) => void;
  readonly toggle: (point: Point) => void;
}

function frameOf(stage: HTMLElement | null, image: HTMLImageElement | null): Frame | undefined {
  if (!stage || !image) return undefined;
  return {
    stage: { width: stage.clientWidth, height: stage.clientHeight },
    // The size in the layout, which no transformation changes.
    fitted: { width: image.offsetWidth, height: image.offsetHeight },
    natural: { width: image.naturalWidth, height: image.naturalHeight },
  };
}

/** Gives the way to stop listening. */
function listen(stage: HTMLElement, { zoom, follow, toggle }: ZoomGestures): () => void {
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
      // Two fingers on a pad come as a wheel with Ctrl, in smaller steps.
      const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1);
      follow(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.002)), fromMiddle(event), still);
    },
    { ...options, passive: false },
  );
  stage.addEventListener('dblclick', (event) => toggle(fromMiddle(event)), options);

  stage.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      fingers.set(event.pointerId, event);
      // One finger over all of the image swipes; what moves the image is no swipe.
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
        follow(distance(event, other) / Math.max(1, distance(before, other)), fromMiddle(middle), by);
      } else if (zoom.peek().scale > 1) {
        follow(1, still, { x: event.x - before.x, y: event.y - before.y });
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

interface Point {
  readonly x: number;
  readonly y: number;
}

const FITTED: Zoom = { scale: 1, x: 0, y: 0 };

/** An image and the stage that it lies in. */
interface Frame {
  readonly stage: Size;
  /** At which all of it is seen. */
  readonly fitted: Size;
  /** Its own. */
  readonly natural: Size;
}

/** The scale at which each pixel of the image is one of the window. */
function naturalScale({ fitted, natural }: Frame): number {
  return fitted.width > 0 ? Math.max(1, natural.width / fitted.width) : 1;
}

/** Enlarges by a factor, with the point of the image that is at `point` (from the stage's middle) staying there. */
export function zoomedBy(zoom: Zoom, factor: number, point: Point, frame: Frame): Zoom {
  const scale = Math.min(Math.max(1, zoom.scale * factor), Math.max(8, 4 * naturalScale(frame)));
  const ratio = scale / zoom.scale;
  return contained({ scale, x: point.x - (point.x - zoom.x) * ratio, y: point.y - (point.y - zoom.y) * ratio }, frame);
}

function movedBy({ scale, x, y }: Zoom, by: Point, frame: Frame): Zoom {
  return contained({ scale, x: x + by.x, y: y + by.y }, frame);
}

/** Moved back as far as an edge of the image has come inside of the stage, with room left beside it. */
function contained({ scale, x, y }: Zoom, { stage, fitted }: Frame): Zoom {
  const across = Math.max(0, (fitted.width * scale - stage.width) / 2);
  const down = Math.max(0, (fitted.height * scale - stage.height) / 2);
  return { scale, x: Math.min(across, Math.max(-across, x)), y: Math.min(down, Math.max(-down, y)) };
}
