import { ancestorsOf } from '../paths.ts';

/** What a change touches: a folder stands for all that is in it. */
export interface Touched {
  /** What is only looked at. */
  readonly read?: readonly string[];
  readonly written: readonly string[];
}

/** Lets changes that touch the same wait for each other, in the order in which they were asked for. */
export interface Turns {
  /** Does the work once all that was begun before it, and touches the same, has ended; gives what it gives. */
  inTurn<Result>(touched: Touched, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(): Turns {
  const under = new Set<{ readonly read: Paths; readonly written: Paths; readonly ended: Promise<void> }>();

  return {
    async inTurn({ read = [], written }, work) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const ours = { read: pathsOf(read), written: pathsOf(written), ended };
      const before = [...under].filter(
        (other) =>
          meet(ours.written, other.written) || meet(ours.written, other.read) || meet(ours.read, other.written),
      );
      under.add(ours);
      try {
        await Promise.all(before.map((other) => other.ended));
        return await work();
      } finally {
        under.delete(ours);
        end();
      }
    },
  };
}

type Paths = ReadonlySet<string>;
const pathsOf = (paths: readonly string[]): Paths => new Set(paths);

/** Whether something is in both, or in a folder of the other. */
function meet(left: Paths, right: Paths): boolean {
  return isUnder(left, right) || isUnder(right, left);
}

function isUnder(paths: Paths, others: Paths): boolean {
  if (others.size === 0) return false;
  for (const path of paths) {
    if (others.has(path) || ancestorsOf(path).some((folder) => others.has(folder))) return true;
  }
  return false;
}
