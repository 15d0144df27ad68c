import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

/**
 * Matches the windows of phones, and strongly zoomed pages. Only this constant contains the width: style sheets use the
 * attribute `data-narrow` of the root element.
 */
export const NARROW = '(width < 40rem)';

/** Matches windows with space for the sidebar. */
export const WIDE = '(width >= 64rem)';

/** Returns whether a media query matches. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => window.matchMedia(query).matches);
  useLayoutEffect(() => {
    const list = window.matchMedia(query);
    const update = () => setMatches(list.matches);
    update();
    list.addEventListener('change', update);
    return () => list.removeEventListener('change', update);
  }, [query]);
  return matches;
}

/**
 * Returns how many items fit into a row, as `fit` counts them. Counts again when the width of the row or one of
 * `dependencies` changes. Hidden items must stay measurable: outside of the flow, but not `display: none`.
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

/** Returns how many of the widths, from the first one, fit into `available` pixels. */
export function countWithin(available: number, widths: readonly number[]): number {
  let used = 0;
  const end = widths.findIndex((width) => {
    used += width;
    return used > available;
  });
  return end < 0 ? widths.length : end;
}
