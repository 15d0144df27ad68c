/** Makes a call as soon as fewer than so many others are under way. */
export type Lanes = <Result>(call: () => Promise<Result>) => Promise<Result>;

/** Lanes for `count` calls at once; the others wait in their order. */
export function createLanes(count: number): Lanes {
  const waiting: (() => void)[] = [];
  let free = Math.max(1, count);
  return async (call) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await call();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
