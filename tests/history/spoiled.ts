import type { History, Line } from './history.ts';

/**
 * The same history with one thing in it that can't have been: in the last look of a round in which every outcome was known,
 * as in the round before, a file is gone, is there again, or holds what it held before.
 */
export function* spoiled(history: History): Generator<[what: string, spoiled: History]> {
  const end = endOfLastKnownRound(history.lines);
  const lines = history.lines.slice(0, end);
  const paths = new Map(
    lines.flatMap((line) =>
      line.is === 'call' && line.operation.does === 'fetch' && line.client === 'look'
        ? [[line.id, line.operation.path]]
        : [],
    ),
  );
  const lookedAt = new Set<string>();
  for (const [index, line] of [...lines.entries()].toReversed()) {
    if (line.is !== 'end' || line.outcome.is !== 'found') continue;
    const path = paths.get(line.id);
    if (path === undefined || lookedAt.has(path)) continue;
    lookedAt.add(path);
    const { content } = line.outcome;
    const contents = content === null ? uploadsTo(path, lines) : [null, ...uploadsTo(path, lines)];
    const other = contents.findLast((one) => one !== content);
    if (other === undefined) continue;
    const outcome = { is: 'found', content: other } as const;
    const what = `The look ${line.id} at ${path} gave ${content}: that it gave ${other} is found.`;
    yield [what, { ...history, lines: lines.with(index, { ...line, outcome }) }];
  }
}

function uploadsTo(path: string, lines: readonly Line[]): number[] {
  return lines.flatMap((line) =>
    line.is === 'call' && line.operation.does === 'upload' && line.operation.path === path
      ? [line.operation.content]
      : [],
  );
}

/** The number of lines until there; 0 where there is none. */
function endOfLastKnownRound(lines: readonly Line[]): number {
  let [end, known] = [0, 0];
  let isKnown = true;
  for (const [index, line] of lines.entries()) {
    if (line.is === 'end' && line.outcome.is === 'unknown') isKnown = false;
    if (line.is !== 'looked') continue;
    known = isKnown ? known + 1 : 0;
    isKnown = true;
    if (known > 1) end = index;
  }
  return end;
}
