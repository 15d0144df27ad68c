import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { FITTED, type Frame, movedBy, naturalScale, type Point, type Zoom, zoomedBy } from './zoom.ts';

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
  const control = useMemo<ZoomControl & Gestured>(() => {
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

interface Gestured {
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
function listen(stage: HTMLElement, { zoom, follow, toggle }: Gestured): () => void {
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
