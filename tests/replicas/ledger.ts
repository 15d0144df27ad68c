/** The bytes of a file. */
export interface Content {
  readonly size: number;
  bytes(): Buffer;
}

/** What is at a path: a file's bytes, or undefined for nothing. */
export type State = Content | undefined;

/** The states of paths that the responses to one client allow. It sends its requests for a path one after the other. */
export interface Ledger {
  /**
   * Records that a state was requested: from now on, the path can have it. Returns the function to call when the request is
   * acknowledged, with the number of attempts: those before the last can still take effect later, and replace later states.
   */
  ask(path: string, state: State): (tries: number) => void;
  /** Whether the path can have these bytes; undefined for no file. */
  allows(path: string, found: Buffer | undefined): boolean;
  /** Whether each listing must contain the path, and whether it can. */
  mustShow(path: string): boolean;
  mayShow(path: string): boolean;
  /** All requested paths. */
  paths(): string[];
}

interface Known {
  /** The last acknowledged state. */
  state: State;
  /** The states of requests that were not acknowledged. */
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

/** Returns bytes that repeat a text, so that every part identifies the file. */
export function contentOf(text: string, size: number): Content {
  return { size, bytes: () => Buffer.alloc(size, `${text};`) };
}
