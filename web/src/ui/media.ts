import { useLayoutEffect, useState } from 'preact/hooks';

/**
 * Windows of phones, and pages that are much enlarged. This is the only place with the width: style sheets use the
 * attribute `data-narrow` of the root.
 */
export const NARROW = '(width < 40rem)';

/** Whether a query of CSS holds now. */
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
