import type { History, Line } from './history.ts';
import { lostContents } from './losses.ts';
import { at, type State } from './program.ts';
import { explainerOf } from './programs.ts';
import { begun, ended, type Programs, unique, type World, type Worlds } from './worlds.ts';

/** `explained`: the guarantees of the store allow every outcome. */
export type Verdict =
  | {
      readonly is: 'explained';
      readonly operations: number;
      /** Maximum number of worlds at a time. */
      readonly most: number;
      /** Rounds with too many worlds, which were not checked. */
      readonly skipped: number;
    }
  | Violation;

export interface Violation {
  readonly is: 'violation';
  /** The number of the line whose outcome has no explanation. */
  readonly line: number;
  readonly why: string;
  /** The possible contents of each path before that line. */
  readonly possible: ReadonlyMap<string, readonly number[]>;
}

/**
 * Checks whether steps that the store guarantees explain the outcomes of all operations. Each step takes effect at one
 * moment between the call and the end of its operation: "linearizability" (Herlihy and Wing 1990), for operations that
 * consist of several steps if the store guarantees no more.
 *
 * Follows all possible worlds along the history ("just-in-time linearization", Lowe 2017): running operations take steps
 * only when an operation ends, and only as many as explain that end. An operation with an unknown outcome can take its
 * steps until the end of the round after its own, or none.
 */
export function check(history: History): Verdict {
  const { lines, paths } = history;
  const programs = programsOf(history);
  const ends = endsOf(history);
  let worlds: Worlds = unique([{ state: paths.map(() => 0), running: new Map() }]);
  let [most, skipped] = [1, 0];

  for (let index = 0; index < lines.length; index++) {
    const next = follow(worlds, { history, index }, ends.get(index) ?? [], programs);
    if ('wrong' in next) {
      const possible = new Map(paths.map((path, number) => [path, contentsAt(worlds.values(), number)]));
      return { is: 'violation', line: index, why: next.wrong, possible };
    }
    worlds = next.worlds;
    most = Math.max(most, worlds.size);
    if (worlds.size > 0) continue;
    skipped++;
    const known = lastKnownState(history, ends, index);
    if (!known) break;
    worlds = unique([{ state: known.state, running: new Map() }]);
    index = known.line;
  }
  return { is: 'explained', operations: programs.size, most, skipped };
}

/** Returns the worlds after a line at which these operations end, or the violation if there are none. */
function follow(
  before: Worlds,
  { history, index }: { readonly history: History; readonly index: number },
  ending: readonly number[],
  programs: Programs,
): { readonly worlds: Worlds } | { readonly wrong: string } {
  const { lines } = history;
  const line = lines[index];
  let worlds = before;
  if (line?.is === 'kept') {
    const lost = lostContents(history, lines.slice(0, index), line.contents);
    if (lost.length > 0) return { wrong: `the store has lost the contents ${lost.join(', ')}` };
  }
  if (line?.is === 'call') {
    const program = programs.get(line.id);
    if (typeof program === 'object' && program.length > 0) {
      worlds = begun(before, line.id, program, programs);
    }
  }
  for (const id of ending) {
    const program = programs.get(id);
    if (typeof program === 'string') return { wrong: program };
    if (program === undefined || program.length === 0) continue;
    const after = ended(worlds, id, program, programs);
    if (after === undefined) return { worlds: new Map() };
    if (after.size === 0) return { wrong: 'no guaranteed steps explain this outcome' };
    worlds = after;
  }
  return { worlds };
}

/** Returns the contents of the paths at the first line where no operation was running and every path was read. */
function lastKnownState(
  { lines, paths }: History,
  ends: ReadonlyMap<number, readonly number[]>,
  from: number,
): { readonly state: State; readonly line: number } | undefined {
  const running = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.is === 'call') running.add(line.id);
    for (const id of ends.get(index) ?? []) running.delete(id);
    if (index <= from || line.is !== 'barrier' || running.size > 0) continue;
    const looks = lines.slice(index);
    return { line: index, state: paths.map((path) => firstFound(path, looks)) };
  }
  return undefined;
}

/** Returns the content in the first fetch of a path. */
function firstFound(path: string, lines: readonly Line[]): number {
  const fetches = new Set<number>();
  for (const line of lines) {
    if (line.is === 'call' && line.operation.does === 'fetch' && line.operation.path === path) fetches.add(line.id);
    if (line.is === 'end' && fetches.has(line.id) && line.outcome.is === 'found') return line.outcome.content ?? 0;
  }
  return 0;
}

/** Returns the programs of the operations by their IDs; or why an outcome alone is a violation. */
function programsOf(history: History): Programs {
  const explain = explainerOf(history);
  const outcomes = new Map(
    history.lines.flatMap((line) => (line.is === 'end' ? [[line.id, line.outcome] as const] : [])),
  );
  const repeated = repeatedIn(history.lines);
  return new Map(
    history.lines.flatMap((line) => {
      if (line.is !== 'call') return [];
      // The run ended before the operation.
      const outcome = outcomes.get(line.id) ?? { is: 'unknown', why: 'the history ends before' };
      const explanation = explain(line.operation, outcome, repeated.has(line.id));
      return [[line.id, 'wrong' in explanation ? explanation.wrong : explanation.program] as const];
    }),
  );
}

/** The operations during which connections to the store were cut. */
function repeatedIn(lines: readonly Line[]): ReadonlySet<number> {
  const running = new Set<number>();
  const repeated = new Set<number>();
  for (const line of lines) {
    if (line.is === 'call') running.add(line.id);
    if (line.is === 'end' && line.outcome.is !== 'unknown') running.delete(line.id);
    if (line.is === 'fault' && line.fault === 'cut') for (const id of running) repeated.add(id);
  }
  return repeated;
}

/**
 * Returns which operations end at each line. Those with an unknown outcome end at the second barrier; or at the first
 * one if their service was killed and the store completes nothing by itself.
 */
function endsOf({ lines, store }: History): ReadonlyMap<number, readonly number[]> {
  const ends = new Map<number, number[]>();
  const replicas = new Map(lines.flatMap((line) => (line.is === 'call' ? [[line.id, line.replica] as const] : [])));
  let [unknown, before]: [number[], number[]] = [[], []];
  const killed = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.is === 'end' && line.outcome.is === 'unknown') unknown.push(line.id);
    else if (line.is === 'end') ends.set(index, [line.id]);
    if (line.is === 'fault' && line.fault === 'kill') killed.add(line.replica);
    if (line.is !== 'barrier') continue;
    const isOver = (id: number) => store !== 'github' && killed.has(replicas.get(id) ?? -1);
    ends.set(index, [...before, ...unknown.filter(isOver)]);
    [unknown, before] = [[], unknown.filter((id) => !isOver(id))];
    killed.clear();
  }
  return ends;
}

function contentsAt(worlds: Iterable<World>, path: number): number[] {
  return [...new Set(Iterator.from(worlds).map(({ state }) => at(state, path)))];
}
