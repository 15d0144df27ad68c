/** The bytes of a file. */
export interface Content {
  readonly size: number;
  bytes(): Buffer;
}

/** What is at a path: a file's bytes, or undefined for nothing. */
export type State = Content | undefined;

/** What the answers that one client had allow to be at its paths. Its requests for one path are sent one after the other. */
export interface Ledger {
  /**
   * Notes that a state is asked for: from now on it may be there. Returns what to call once that is acknowledged, with how
   * many requests it took: those before the last may be done at any time after, and undo what was acknowledged since.
   */
  ask(path: string, state: State): (tries: number) => void;
  /** Whether these bytes, or nothing, may be there. */
  allows(path: string, found: Buffer | undefined): boolean;
  /** Whether a listing has to show the path, and whether it may. */
  mustShow(path: string): boolean;
  mayShow(path: string): boolean;
  /** Every path that was ever asked for. */
  paths(): string[];
}

interface Known {
  /** What was acknowledged last. */
  state: State;
  /** What was asked for by requests that were not acknowledged. */
  readonly open: Set<{ readonly state: State }>;
}

export function createLedger(): Ledger {
  const known = new Map<string, Known>();
  const possible = (path: string): State[] => {
    const at = known.get(path);
    return at ? [at.state, ...[...at.open].map(({ state }) => state)] : [undefined];
  };
  return {
    ask(path, state) {
      const at = known.get(path) ?? { state: undefined, open: new Set() };
      known.set(path, at);
      const requested = { state };
      at.open.add(requested);
      return (tries) => {
        if (tries === 1) at.open.delete(requested);
        at.state = state;
      };
    },
    allows: (path, found) => possible(path).some((state) => isSame(state, found)),
    mustShow: (path) => possible(path).every((state) => state !== undefined),
    mayShow: (path) => possible(path).some((state) => state !== undefined),
    paths: () => [...known.keys()],
  };
}

function isSame(state: State, found: Buffer | undefined): boolean {
  if (state === undefined || found === undefined) return state === found;
  return state.size === found.length && state.bytes().equals(found);
}

/** Bytes that tell in every part of them which they are. */
export function contentOf(text: string, size: number): Content {
  return { size, bytes: () => Buffer.alloc(size, `${text};`) };
}
