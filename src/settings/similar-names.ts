/**
 * Returns the candidate that `name` most likely misspells, compared without case: at most one edit away, or two from 9
 * characters. Returns undefined if none is that close.
 */
export function closestName<const Name extends string>(name: string, candidates: readonly Name[]): Name | undefined {
  const maxDistance = name.length < 9 ? 1 : 2;
  let closest: { readonly name: Name; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) > maxDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), maxDistance);
    if (distance < (closest?.distance ?? Number.POSITIVE_INFINITY)) closest = { name: candidate, distance };
  }
  return closest?.name;
}

/**
 * Returns the number of inserted, deleted, replaced and swapped adjacent characters (optimal string alignment), or infinity
 * if it exceeds `max`.
 */
function editDistance(left: string, right: string, max: number): number {
  let [beforePrevious, previous]: [number[], number[]] = [[], Array.from({ length: right.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = at(previous, j - 1) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swapped = isSwap ? at(beforePrevious, j - 2) + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(at(previous, j) + 1, at(row, j - 1) + 1, replaced, swapped));
    }
    // Each distance of a later row is at least that of some distance in this row, or one more than one in the row before it.
    if (Math.min(...row) > max && Math.min(...previous) >= max) return Number.POSITIVE_INFINITY;
    [beforePrevious, previous] = [previous, row];
  }
  const distance = at(previous, right.length);
  return distance > max ? Number.POSITIVE_INFINITY : distance;
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0;
