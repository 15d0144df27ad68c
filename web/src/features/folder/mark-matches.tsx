import type { ComponentChildren } from 'preact';
import { matchesIn } from './matches.ts';
import './matches.css';

/** Renders a part of a name with the words of a filter marked. */
export function markMatches(name: string, filter: string, from = 0, to = name.length): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let done = from;
  for (const [start, end] of matchesIn(name, filter)) {
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first >= last) continue;
    parts.push(name.slice(done, first), <mark class="match">{name.slice(first, last)}</mark>);
    done = last;
  }
  return [...parts, name.slice(done, to)];
}
