import type { History, Line, Operation } from './history.ts';

/**
 * Returns the contents of acknowledged uploads that the store has lost: no request permanently removed them. `lines` are
 * those before the contents `kept` were read.
 */
export function lostContents(
  history: Pick<History, 'store' | 'paths'>,
  lines: readonly Line[],
  kept: readonly number[],
) {
  return [...protectedContents(history, lines).difference(new Set(kept))];
}

/** The contents of acknowledged uploads that the store must still have. */
export function protectedContents({ store, paths }: Pick<History, 'store' | 'paths'>, lines: readonly Line[]) {
  const calls = callsOf(lines);
  const stored = new Set<number>();
  for (const { operation, isDone } of calls) {
    if (operation.does === 'upload' && isDone) stored.add(operation.content);
  }
  for (const { operation } of calls) {
    // A content that might have been permanently removed is not a loss.
    if (operation.does === 'purge') for (const content of operation.contents) stored.delete(content);
  }
  return store === 'bucket' ? stored.difference(unprotectedContents(calls, paths)) : stored;
}

/** An operation, with the numbers of the lines between which it ran. */
interface Call {
  readonly operation: Operation;
  readonly start: number;
  readonly end: number;
  readonly isDone: boolean;
}

function callsOf(lines: readonly Line[]): readonly Call[] {
  const ends = new Map(
    lines.flatMap((line, index) => (line.is === 'end' ? [[line.id, { line, index }] as const] : [])),
  );
  return lines.flatMap((line, start) => {
    if (line.is !== 'call') return [];
    const { line: ended, index } = ends.get(line.id) ?? {};
    const isKnown = ended !== undefined && ended.outcome.is !== 'unknown';
    const end = isKnown && index !== undefined ? index : Number.POSITIVE_INFINITY;
    return [{ operation: line.operation, start, end, isDone: ended?.outcome.is === 'done' }];
  });
}

/**
 * Returns the contents that a bucket on Ceph 16 can lose (docs/reference/stores-s3.md, "Conditional writes"): they were
 * written to a path while another operation replaced or removed its file. With object versions, the bucket keeps them.
 */
function unprotectedContents(calls: readonly Call[], paths: readonly string[]): ReadonlySet<number> {
  const changes = calls.map((call) => ({ ...call, ...effectsOf(call.operation, paths) }));
  // All contents that each path can have had.
  const held = new Map(paths.map((path) => [path, new Set<number>()]));
  for (let size = -1, next = 0; next !== size; ) {
    size = next;
    for (const { written } of changes) {
      for (const [path, source] of written) {
        const contents = typeof source === 'number' ? [source] : (held.get(source) ?? []);
        for (const content of contents) held.get(path)?.add(content);
      }
    }
    next = held.values().reduce((sum, contents) => sum + contents.size, 0);
  }
  const unprotected = new Set<number>();
  for (const change of changes) {
    for (const [path, source] of change.written) {
      const isDisturbed = changes.some(
        (other) => other !== change && other.start < change.end && change.start < other.end && other.ended.has(path),
      );
      if (!isDisturbed) continue;
      for (const content of typeof source === 'number' ? [source] : (held.get(source) ?? [])) unprotected.add(content);
    }
  }
  return unprotected;
}

/** What an operation can write to each path: a content, or that of another path. And the paths whose content it can remove. */
interface Effects {
  readonly written: readonly (readonly [path: string, source: number | string])[];
  readonly ended: ReadonlySet<string>;
}

function effectsOf(operation: Operation, paths: readonly string[]): Effects {
  const below = (folder: string) => paths.filter((path) => path.startsWith(folder));
  switch (operation.does) {
    case 'upload':
    case 'restore':
    case 'restore version':
      return { written: [[operation.path, operation.content]], ended: new Set([operation.path]) };
    case 'undo':
      return undoEffectsOf(operation, paths);
    case 'restore folder':
      return { written: Object.entries(operation.files), ended: new Set(Object.keys(operation.files)) };
    case 'delete':
      return { written: [], ended: new Set([operation.path]) };
    case 'delete folder':
      return { written: [], ended: new Set(below(operation.folder)) };
    case 'copy':
    case 'move':
    case 'rename':
      return { written: [[operation.to, operation.from]], ended: new Set([operation.from, operation.to]) };
    case 'copy folder':
    case 'move folder':
    case 'rename folder': {
      const { from, to } = operation;
      const written = below(from).map((path) => [to + path.slice(from.length), path] as const);
      return { written, ended: new Set([...below(from), ...below(to)]) };
    }
    default:
      return { written: [], ended: new Set() };
  }
}

/** An undo writes the contents that the operation can have replaced or deleted, and reverses its moves. */
function undoEffectsOf({ of, files }: Operation & { readonly does: 'undo' }, paths: readonly string[]): Effects {
  const { ended } = effectsOf(of, paths);
  const restored = Object.entries(files).flatMap(([path, contents]) =>
    contents.map((content) => [path, content] as const),
  );
  const isMove = 'from' in of && of.does !== 'copy';
  const moved = isMove ? effectsOf({ ...of, from: of.to, to: of.from }, paths).written : [];
  return { written: [...restored, ...moved], ended };
}
