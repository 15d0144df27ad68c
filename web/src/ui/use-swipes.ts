import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { isRightToLeft } from './direction.ts';

export interface Swipes {
  /** Called by a swipe that moves the next item into view: to the left, or to the right in right-to-left pages. */
  readonly next?: (() => void) | undefined;
  /** Called by a swipe in the opposite direction. */
  readonly previous?: (() => void) | undefined;
  readonly down: (() => void) | undefined;
}

/** Minimum distance of a swipe. */
const MIN_DISTANCE_PX = 56;
/** Minimum ratio of the distance to the movement on the other axis. */
const MIN_AXIS_RATIO = 1.5;
/** Maximum time between touching and releasing the screen. */
const MAX_DURATION_MS = 600;

/**
 * Calls a function for each swipe of one finger over an element. The browser cancels the pointer events of swipes that
 * scroll. Child elements that handle touches must stop the propagation of their events.
 */
export function useSwipes(element: RefObject<HTMLElement | null>, swipes: Swipes): void {
  const current = useRef(swipes);
  current.current = swipes;

  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const listening = new AbortController();
    const { signal } = listening;
    let start: PointerEvent | undefined;
    target.addEventListener(
      'pointerdown',
      (event) => {
        // Only the innermost element with swipes handles the event.
        event.stopPropagation();
        // A second finger starts another gesture.
        start = event.pointerType === 'touch' && event.isPrimary ? event : undefined;
      },
      { signal },
    );
    const cancel = () => {
      start = undefined;
    };
    target.addEventListener('pointercancel', cancel, { signal });
    target.addEventListener(
      'pointerup',
      (event) => {
        const from = start;
        cancel();
        if (from?.pointerId !== event.pointerId || event.timeStamp - from.timeStamp > MAX_DURATION_MS) return;
        const deltaX = event.clientX - from.clientX;
        const deltaY = event.clientY - from.clientY;
        if (Math.abs(deltaX) > MIN_DISTANCE_PX && Math.abs(deltaX) > MIN_AXIS_RATIO * Math.abs(deltaY)) {
          current.current[deltaX < 0 === isRightToLeft() ? 'previous' : 'next']?.();
        } else if (deltaY > MIN_DISTANCE_PX && deltaY > MIN_AXIS_RATIO * Math.abs(deltaX)) {
          current.current.down?.();
        }
      },
      { signal },
    );
    return () => listening.abort();
  }, []);
}
