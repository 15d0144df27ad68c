import { diff3Merge, diffIndices } from 'node-diff3';

/** Lines of the merged text that both sides changed. Line numbers count from 0, and each range excludes its end. */
export interface MergeConflict {
  /** The first line of the user's version. */
  readonly from: number;
  /** The first line of the other version, which follows the user's one. */
  readonly middle: number;
  readonly to: number;
}

/** The result of a three-way merge. */
export interface MergedText {
  /** The merged text. A conflict contains the lines of both versions. */
  readonly text: string;
  readonly conflicts: readonly MergeConflict[];
  /** The ranges of lines outside of conflicts that the user's version lacks. */
  readonly incoming: readonly { readonly from: number; readonly to: number }[];
}

export interface Versions {
  /** The text that both versions come from. */
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
}

/** Merges two versions of a text, line by line. The time can grow with the square of the number of lines that differ. */
export function mergeTexts({ base, mine, theirs }: Versions): MergedText {
  const [original, own, other] = [base, mine, theirs].map((text) => text.split('\n')) as [string[], string[], string[]];
  // Equal lines at both ends need no comparison, and most changes are small.
  const start = countEqual([original, own, other], (lines, index) => lines[index]);
  const end = countEqual(
    [original.slice(start), own.slice(start), other.slice(start)],
    (lines, index) => lines[lines.length - 1 - index],
  );
  const middleOf = (lines: readonly string[]) => lines.slice(start, lines.length - end);
  const merged: string[] = own.slice(0, start);
  const conflicts: MergeConflict[] = [];
  for (const part of diff3Merge(middleOf(own), middleOf(original), middleOf(other), { excludeFalseConflicts: true })) {
    if (part.ok) push(merged, part.ok);
    if (!part.conflict) continue;
    const from = merged.length;
    push(merged, part.conflict.a);
    const middle = merged.length;
    push(merged, part.conflict.b);
    conflicts.push({ from, middle, to: merged.length });
  }
  push(merged, own.slice(own.length - end));
  return { text: merged.join('\n'), conflicts, incoming: incomingOf(own, merged, conflicts) };
}

/** Appends many items. A call with all of them as arguments would exceed the stack. */
function push(target: string[], items: readonly string[]): void {
  for (const item of items) target.push(item);
}

/** Returns how many lines are equal in all texts, from one end. */
function countEqual(
  texts: readonly (readonly string[])[],
  at: (lines: readonly string[], index: number) => string | undefined,
): number {
  const max = Math.min(...texts.map(({ length }) => length));
  const [first = []] = texts;
  let count = 0;
  while (count < max && texts.every((lines) => at(lines, count) === at(first, count))) count++;
  return count;
}

function incomingOf(own: readonly string[], merged: readonly string[], conflicts: readonly MergeConflict[]) {
  const isInConflict = (from: number, to: number) =>
    conflicts.some((conflict) => from < conflict.to && to > conflict.from);
  return diffIndices([...own], [...merged])
    .map(({ buffer2: [from, length] }) => ({ from, to: from + length }))
    .filter(({ from, to }) => to > from && !isInConflict(from, to));
}
