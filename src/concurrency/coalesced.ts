/**
 * Returns a function that runs `task`, at most once at a time. Calls during a run share one later run, because the current
 * one might miss what happened just before them.
 */
export function coalesced<Result>(task: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;

  const start = (): Promise<Result> => {
    next = undefined;
    const run = task().finally(() => {
      if (current === run) current = undefined;
    });
    current = run;
    return run;
  };

  return () => {
    if (current) next ??= current.then(start, start);
    return next ?? start();
  };
}
