/** Works on every item, on so many at once; rejects with the first failure, and takes no new item after it. */
export async function eachOf<Item>(
  items: Iterable<Item>,
  concurrency: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  let hasFailed = false;
  const takeTurns = async () => {
    for (let next = rest.next(); !next.done && !hasFailed; next = rest.next()) await work(next.value);
  };
  const turns = Array.from({ length: concurrency }, () => {
    return takeTurns().catch((error: unknown) => {
      hasFailed = true;
      throw error;
    });
  });
  await Promise.all(turns);
}
