import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/**
 * How many items of a row there is room for, told anew when its width or one of `dependencies` changes. Those that are
 * not shown have to stay measurable: out of the flow, and not displayed `none`.
 */
export function useFitting(
  row: RefObject<HTMLElement | null>,
  fit: (row: HTMLElement) => number,
  dependencies: readonly unknown[],
): number {
  const [count, setCount] = useState(Number.POSITIVE_INFINITY);
  useLayoutEffect(() => {
    const element = row.current;
    if (!element) return;
    const measure = () => setCount(fit(element));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, dependencies);
  return count;
}

/** How many widths, from the first on, go into the room, in pixels. */
export function countWithin(room: number, widths: readonly number[]): number {
  let taken = 0;
  const end = widths.findIndex((width) => {
    taken += width;
    return taken > room;
  });
  return end < 0 ? widths.length : end;
}
