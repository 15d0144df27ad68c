import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface Swipes {
  readonly left: (() => void) | undefined;
  readonly right: (() => void) | undefined;
  readonly down: (() => void) | undefined;
}

/** Pixels of the window after which a movement of a finger counts, and what it has to be more than across. */
const DISTANCE = 56;
const STRAIGHTNESS = 1.5;
/** Milliseconds within which it has to end. */
const DURATION = 600;

/**
 * Tells swipes of one finger over an element. Those that scroll something the browser takes for itself; what lies
 * inside and wants the finger stops the event.
 */
export function useSwipes(element: RefObject<HTMLElement | null>, swipes: Swipes): void {
  const current = useRef(swipes);
  current.current = swipes;

  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const listening = new AbortController();
    const { signal } = listening;
    let begun: PointerEvent | undefined;
    target.addEventListener(
      'pointerdown',
      (event) => {
        // It is of the innermost element that wants swipes.
        event.stopPropagation();
        // A second finger makes it something else.
        begun = event.pointerType === 'touch' && event.isPrimary ? event : undefined;
      },
      { signal },
    );
    const forget = () => {
      begun = undefined;
    };
    target.addEventListener('pointercancel', forget, { signal });
    target.addEventListener(
      'pointerup',
      (event) => {
        const start = begun;
        forget();
        if (start?.pointerId !== event.pointerId || event.timeStamp - start.timeStamp > DURATION) return;
        const across = event.clientX - start.clientX;
        const down = event.clientY - start.clientY;
        if (Math.abs(across) > DISTANCE && Math.abs(across) > STRAIGHTNESS * Math.abs(down)) {
          current.current[across < 0 ? 'left' : 'right']?.();
        } else if (down > DISTANCE && down > STRAIGHTNESS * Math.abs(across)) {
          current.current.down?.();
        }
      },
      { signal },
    );
    return () => listening.abort();
  }, []);
}
