/** What each path holds, by its number: the size of a content, or 0 where there is no file. */
export type State = readonly number[];

/** The position of a thread: one of its nodes or its `END`, and the values that it remembers. */
export interface Position {
  readonly node: number;
  readonly memory: readonly number[];
}

export interface StepResult extends Position {
  readonly state: State;
}

/** The steps that can be taken from a node in this state: each takes effect in one moment. */
export type Node = (state: State, memory: readonly number[]) => readonly StepResult[];

/** Steps one behind the other, from the first node to the `END`. */
export interface Thread {
  /** The paths that its steps look at or change. */
  readonly paths: readonly number[];
  readonly nodes: readonly Node[];
  /** Whether the thread only checks once that the outcome was true at some moment. */
  readonly isObservation: boolean;
  /** Any first part of it may have been done when the operation ended, else all of it was. */
  readonly isOptional: boolean;
}

/** What an operation does, between its call and its end, as its store does it: threads that run beside each other. */
export type Program = readonly Thread[];

export const END = -1;

export const to = (node: number, state: State, memory: readonly number[] = []): StepResult => ({ node, state, memory });

/** Steps one behind the other. */
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

export const perhaps = (threads: readonly Thread[]): Program => threads.map((one) => ({ ...one, isOptional: true }));

/** The state in which the paths of these numbers hold something else. */
export function having(state: State, changes: Iterable<readonly [path: number, content: number]>): State {
  const next = [...state];
  for (const [path, content] of changes) next[path] = content;
  return next;
}

/** What a path holds. */
export const at = (state: State, path: number): number => state[path] ?? 0;
