/** Runs the tasks of one key one after the other, in the order of the calls. Tasks of different keys run in parallel. */
export interface KeyedMutex {
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result>;
}

export function createKeyedMutex(): KeyedMutex {
  const tails = new Map<string, Promise<unknown>>();
  return {
    async run(key, task) {
      const previous = tails.get(key);
      const current = previous ? previous.then(task, task) : task();
      tails.set(key, current);
      try {
        return await current;
      } finally {
        if (tails.get(key) === current) tails.delete(key);
      }
    },
  };
}
