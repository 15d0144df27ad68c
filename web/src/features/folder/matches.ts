import { fold } from '../../model/folder/order.ts';

/** A part of a text, from its first index to the index after its last one. */
type Range = readonly [start: number, end: number];

/** Returns where the words of a filter are in a name, in order and without overlaps. */
export function matchesIn(name: string, filter: string): readonly Range[] {
  let folded = '';
  /** The index in the name of each code unit of `folded`. */
  const origins: number[] = [];
  let index = 0;
  for (const character of name) {
    for (const unit of fold(character)) {
      folded += unit;
      for (let count = 0; count < unit.length; count++) origins.push(index);
    }
    index += character.length;
  }
  origins.push(name.length);

  const found: Range[] = [];
  for (const word of new Set(fold(filter).split(/\s+/).filter(Boolean))) {
    for (let at = folded.indexOf(word); at >= 0; at = folded.indexOf(word, at + 1)) {
      const start = origins[at] ?? 0;
      // Marks that the comparison ignores belong to the character before them.
      const next = origins.find((origin, position) => position >= at + word.length && origin > start);
      found.push([start, next ?? name.length]);
    }
  }
  return merged(found);
}

function merged(ranges: readonly Range[]): readonly Range[] {
  const result: Range[] = [];
  for (const [start, end] of ranges.toSorted((left, right) => left[0] - right[0])) {
    const last = result.at(-1);
    if (last && start <= last[1]) result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}
