/** What each path holds, by its number: the size of a content, or 0 where there is no file. */
export type State = readonly number[];

/** Where a thread is: at one of its nodes or at its `END`, and what it keeps in mind. */
export interface Place {
  readonly node: number;
  readonly kept: readonly number[];
}

export interface Taken extends Place {
  readonly state: State;
}

/** The steps that can be taken from a node in this state: each takes effect in one moment. */
export type Node = (state: State, kept: readonly number[]) => readonly Taken[];

/** Steps one behind the other, from the first node to the `END`. */
export interface Thread {
  /** The paths that its steps look at or change. */
  readonly paths: readonly number[];
  readonly nodes: readonly Node[];
  /** It only looks, once: whether something holds that the outcome told. */
  readonly isLook: boolean;
  /** Any first part of it may have been done when the operation ended, else all of it was. */
  readonly isOptional: boolean;
}

/** What an operation does, between its call and its end, as its store does it: threads that run beside each other. */
export type Program = readonly Thread[];

export const END = -1;

export const to = (node: number, state: State, kept: readonly number[] = []): Taken => ({ node, state, kept });

/** Steps one behind the other. */
export const thread = (paths: readonly number[], ...nodes: Node[]): Thread => ({
  paths,
  nodes,
  isLook: false,
  isOptional: false,
});

/** What was true of these paths at some moment. */
export const look = (paths: readonly number[], holds: (state: State) => boolean): Thread => ({
  paths,
  nodes: [(state) => (holds(state) ? [to(END, state)] : [])],
  isLook: true,
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
