/** Calls `work` for every item, at most `concurrency` at a time. Rejects with the first failure and starts no further item. */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const remaining = items[Symbol.iterator]();
  let hasFailed = false;
  const processItems = async () => {
    for (let next = remaining.next(); !next.done && !hasFailed; next = remaining.next()) await work(next.value);
  };
  const workers = Array.from({ length: concurrency }, () => {
    return processItems().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  });
  await Promise.all(workers);
}
