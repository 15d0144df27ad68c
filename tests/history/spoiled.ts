import type { History, Line } from './history.ts';
import { protectedContents } from './losses.ts';

/**
 * Returns the same history with one violation. In the last read of a round with only known outcomes, as in the round
 * before, a file is missing, exists again, or has an earlier content; or the store has lost a content.
 */
export function* spoiled(history: History): Generator<[what: string, spoiled: History]> {
  yield* withLostContent(history);
  const end = endOfLastKnownRound(history.lines);
  const lines = history.lines.slice(0, end);
  const paths = new Map(
    lines.flatMap((line) =>
      line.is === 'call' && line.operation.does === 'fetch' && line.client === 'look'
        ? [[line.id, line.operation.path]]
        : [],
    ),
  );
  const changedPaths = new Set<string>();
  for (const [index, line] of [...lines.entries()].toReversed()) {
    if (line.is !== 'end' || line.outcome.is !== 'found') continue;
    const path = paths.get(line.id);
    if (path === undefined || changedPaths.has(path)) continue;
    changedPaths.add(path);
    const { content } = line.outcome;
    const contents = content === null ? uploadsTo(path, lines) : [null, ...uploadsTo(path, lines)];
    const other = contents.findLast((one) => one !== content);
    if (other === undefined) continue;
    const outcome = { is: 'found', content: other } as const;
    const what = `The check must detect a changed read: ${line.id} read ${other} at ${path} instead of ${content}.`;
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

/** Returns the number of lines until the end of the last known round; 0 if there is none. */
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

/** Removes the content of the last stored upload from the last read of the store. */
function* withLostContent(history: History): Generator<[what: string, spoiled: History]> {
  const { lines } = history;
  const index = lines.findLastIndex(({ is }) => is === 'kept');
  const kept = lines[index];
  if (kept?.is !== 'kept') return;
  const content = [...protectedContents(history, lines.slice(0, index))].at(-1);
  if (content === undefined) return;
  const contents = kept.contents.filter((present) => present !== content);
  yield [
    `The loss of the content ${content} is found.`,
    { ...history, lines: lines.with(index, { ...kept, contents }) },
  ];
}
