/**
 * Runs `task` for every item, at most `limit` at once, and settles when all are done. The first failure, and
 * `signal`, end the intake of items; what is running is waited for, and then the failure is thrown.
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
 * Every item with what `look` finds of it, in the order of the items; `look` runs for as many as `limit` of them ahead.
 */
export async function* mapAhead<Item, Found>(
  items: AsyncIterable<Item>,
  limit: number,
  look: (item: Item) => Promise<Found>,
): AsyncGenerator<{ item: Item; found: Found }> {
  const ahead: { item: Item; found: Promise<Found> }[] = [];
  for await (const item of items) {
    const found = look(item);
    // Its failure is thrown when its turn comes, if it does.
    found.catch(() => {});
    ahead.push({ item, found });
    const first = ahead.length >= limit ? ahead.shift() : undefined;
    if (first) yield { item: first.item, found: await first.found };
  }
  for (const { item, found } of ahead) yield { item, found: await found };
}
