import { END, type Position, type Program, type State, type Thread } from './program.ts';

/** A possible state: the contents of the paths, and the position of each running operation. */
export interface World {
  readonly state: State;
  readonly running: ReadonlyMap<number, readonly Position[]>;
}

/** Worlds by their keys. */
export type Worlds = ReadonlyMap<string, World>;

/** The program of each operation, by number; or why its outcome is a violation. */
export type Programs = ReadonlyMap<number, Program | string>;

/** Maximum number of worlds at a time. */
const MAX_WORLDS = 50_000;

/** Returns the worlds in which the operation is also running. */
export function begun(worlds: Worlds, id: number, program: Program, programs: Programs): Worlds {
  const places = program.map(() => ({ node: 0, memory: [] }));
  return unique(
    Iterator.from(worlds.values()).map(({ state, running }) =>
      looked({ state, running: new Map([...running, [id, places]]) }, programs),
    ),
  );
}

/** Returns the worlds in which the operation has ended; undefined if there are too many. */
export function ended(worlds: Worlds, id: number, threads: Program, programs: Programs): Worlds | undefined {
  let before = worlds;
  for (const [number, { isOptional }] of threads.entries()) {
    const after = brought(before, { id, number }, isOptional, programs);
    if (after === undefined) return undefined;
    before = after;
  }
  return unique(
    Iterator.from(before.values()).map(({ state, running }) => {
      return { state, running: new Map([...running].filter(([other]) => other !== id)) };
    }),
  );
}

/** A thread of an operation. */
interface ThreadId {
  readonly id: number;
  readonly number: number;
}

/**
 * Returns the worlds in which a thread has ended or, if it is optional, has taken any number of its steps. Other threads
 * take as few steps as this needs, because they can take the rest later.
 */
function brought(worlds: Worlds, which: ThreadId, isOptional: boolean, programs: Programs): Worlds | undefined {
  const isDone = (world: World) => world.running.get(which.id)?.[which.number]?.node === END;
  const seen = new Map(worlds);
  const after = new Map(isOptional ? worlds : []);
  // The loop also visits the items that it adds.
  for (const [key, world] of seen) {
    if (isDone(world)) {
      after.set(key, world);
      continue;
    }
    for (const one of connectedTo(which, world, programs)) {
      const isSameThread = one.id === which.id && one.number === which.number;
      for (const next of stepsOf(one, world, programs)) {
        const nextKey = keyOf(next);
        seen.set(nextKey, next);
        if (isSameThread && isOptional) after.set(nextKey, next);
      }
    }
    if (seen.size > MAX_WORLDS) return undefined;
  }
  return after;
}

/** Returns the threads that can affect this one, and itself: they share its paths, or those of such a thread. */
function connectedTo(which: ThreadId, world: World, programs: Programs): readonly ThreadId[] {
  const paths = new Set(threadOf(programs, which)?.paths);
  let apart: (ThreadId & Pick<Thread, 'paths'>)[] = [];
  for (const [id, places] of world.running) {
    for (const [number, { node }] of places.entries()) {
      const thread = threadOf(programs, { id, number });
      if (thread && !thread.isObservation && node !== END) apart.push({ id, number, paths: thread.paths });
    }
  }
  const connected: ThreadId[] = [];
  for (let size = -1; size < connected.length; ) {
    size = connected.length;
    apart = apart.filter((one) => {
      if (!one.paths.some((path) => paths.has(path))) return true;
      connected.push(one);
      for (const path of one.paths) paths.add(path);
      return false;
    });
  }
  return connected;
}

/** Returns each world after one more step of this thread. */
function* stepsOf({ id, number }: ThreadId, world: World, programs: Programs): Generator<World> {
  const places = world.running.get(id);
  const place = places?.[number];
  if (!places || !place) return;
  const step = threadOf(programs, { id, number })?.nodes[place.node];
  for (const { state, node, memory } of step?.(world.state, place.memory) ?? []) {
    const running = new Map(world.running).set(id, places.with(number, { node, memory: node === END ? [] : memory }));
    yield looked({ state, running }, programs);
  }
}

/** Ends a thread that only reads as soon as its outcome is true. This loses no worlds, because the thread changes nothing. */
function looked({ state, running }: World, programs: Programs): World {
  const next = new Map(running);
  for (const [id, places] of running) {
    for (const [number, place] of places.entries()) {
      const thread = threadOf(programs, { id, number });
      if (!thread?.isObservation || place.node === END) continue;
      const [taken] = thread.nodes[0]?.(state, []) ?? [];
      if (taken) next.set(id, (next.get(id) ?? places).with(number, { node: END, memory: [] }));
    }
  }
  return { state, running: next };
}

function threadOf(programs: Programs, { id, number }: ThreadId): Thread | undefined {
  const program = programs.get(id);
  return typeof program === 'object' ? program[number] : undefined;
}

export function unique(worlds: Iterable<World>): Map<string, World> {
  const found = new Map<string, World>();
  for (const world of worlds) found.set(keyOf(world), world);
  return found;
}

function keyOf({ state, running }: World): string {
  let key = state.join();
  for (const [id, places] of running) {
    key += `;${id}`;
    for (const { node, memory } of places) key += ` ${node}:${memory.join()}`;
  }
  return key;
}
