/**
 * Runs `task` for every item, at most `limit` in parallel. Resolves when all tasks have ended. After the first
 * failure, or when `signal` aborts, no more items start. Rejects with that failure when the running tasks have ended.
 */
export async function concurrently<Item>(
  items: AsyncIterable<Item>,
  limit: number,
  task: (item: Item) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  try {
    for await (const item of items) {
      signal?.throwIfAborted();
      const run = task(item)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(run));
      running.add(run);
      if (running.size >= limit) await Promise.race(running);
      if (failures.length > 0) break;
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
  signal?.throwIfAborted();
}

/**
 * Yields every item with the result of `load`, in the order of the items. Runs `load` for up to `limit` items in
 * parallel.
 */
export async function* mapAhead<Item, Found>(
  items: AsyncIterable<Item>,
  limit: number,
  load: (item: Item) => Promise<Found>,
): AsyncGenerator<{ item: Item; found: Found }> {
  const ahead: { item: Item; found: Promise<Found> }[] = [];
  for await (const item of items) {
    const found = load(item);
    // The error is thrown when the result is awaited below. It might never be, if the caller stops early.
    found.catch(() => {});
    ahead.push({ item, found });
    const first = ahead.length >= limit ? ahead.shift() : undefined;
    if (first) yield { item: first.item, found: await first.found };
  }
  for (const { item, found } of ahead) yield { item, found: await found };
}
