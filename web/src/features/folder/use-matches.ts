import type { ComponentChildren } from 'preact';
import { lazyValue } from '../../ui/lazy-value.ts';
import { useFolder } from '../models.ts';

const MATCHES = lazyValue(() => import('./mark-matches.tsx'));

/** A hook. Returns a function that renders a part of a name, with the words of the filter marked. */
export function useMatches(): (name: string, from?: number, to?: number) => ComponentChildren {
  const filter = useFolder().filter.value.trim();
  const matches = MATCHES.use(filter !== '');
  return (name, from, to) =>
    matches && filter !== '' ? matches.markMatches(name, filter, from, to) : name.slice(from, to);
}
