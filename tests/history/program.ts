/** The content of each path, by the number of the path: its size, or 0 without a file. */
export type State = readonly number[];

/** The position of a thread: a node or `END`, and the values that the thread remembers. */
export interface Position {
  readonly node: number;
  readonly memory: readonly number[];
}

export interface StepResult extends Position {
  readonly state: State;
}

/** Returns the possible steps from a node in this state. Each takes effect at one moment. */
export type Node = (state: State, memory: readonly number[]) => readonly StepResult[];

/** A sequence of steps, from the first node to `END`. */
export interface Thread {
  /** The paths that its steps read or change. */
  readonly paths: readonly number[];
  readonly nodes: readonly Node[];
  /** Whether the thread only checks that the outcome was true at some moment. */
  readonly isObservation: boolean;
  /** Whether the operation can end after any number of its steps, instead of after all of them. */
  readonly isOptional: boolean;
}

/** The steps of an operation on its store, between its call and its end: concurrent threads. */
export type Program = readonly Thread[];

export const END = -1;

export const to = (node: number, state: State, memory: readonly number[] = []): StepResult => ({ node, state, memory });

/** Returns a thread with these steps, in this order. */
export const thread = (paths: readonly number[], ...nodes: Node[]): Thread => ({
  paths,
  nodes,
  isObservation: false,
  isOptional: false,
});

/** A single observation of these paths. */
export const observation = (paths: readonly number[], holds: (state: State) => boolean): Thread => ({
  paths,
  nodes: [(state) => (holds(state) ? [to(END, state)] : [])],
  isObservation: true,
  isOptional: false,
});

export const optionally = (threads: readonly Thread[]): Program => threads.map((one) => ({ ...one, isOptional: true }));

/** Returns a state with other contents at these paths. */
export function having(state: State, changes: Iterable<readonly [path: number, content: number]>): State {
  const next = [...state];
  for (const [path, content] of changes) next[path] = content;
  return next;
}

/** Returns the content of a path. */
export const at = (state: State, path: number): number => state[path] ?? 0;
