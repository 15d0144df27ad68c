import { useLayoutEffect, useState } from 'preact/hooks';

/** Windows too narrow for everything to stand side by side: phones, and pages that are much enlarged. */
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
