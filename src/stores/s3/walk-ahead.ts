import { lookAhead } from '../../domain/concurrently.ts';
import type { Cancellable } from '../../domain/store.ts';
import type { Bucket } from './bucket.ts';
import type { Key } from './keys.ts';
import type { ListedObject } from './list.ts';
import { type KeyRange, walkChildren, walkPages } from './walk.ts';

/** Pages that are read one after the other before it is asked what comes behind them: small folders cost no more. */
const FEW = 4;

/** The approximate number of pages in a range. Each range takes up to one extra request, which is one in six. */
const PAGES_PER_RANGE = 6;

/** Ranges that are read at once: eight win little where a store is near, and take more memory (docs/scaling.md). */
const RANGES_AT_ONCE = 4;

/** Pages of a range that may wait for their turn: all that it has, also where it is larger than was reckoned. */
const PAGES_AHEAD = 8;

/** The objects that each child of a folder has to have on average for the listing of the children to be worth it. */
const LEAST_PER_CHILD = 10;

type Page = readonly ListedObject[];

/**
 * As `walkObjects`, for looks at large folders: ranges of them are read at once, so that a store that is far away is not
 * waited for at each page. What it gives may have been listed seconds ago.
 *
 * Where one range ends the next begins, so that each key is in exactly one, whatever comes and goes meanwhile. They are
 * cut by the folders within; what is one large folder without any is read page by page.
 */
export async function* walkAhead(bucket: Bucket, prefix: Key, { signal }: Cancellable): AsyncGenerator<ListedObject> {
  const left = new AbortController();
  const options = { signal: signal ? AbortSignal.any([signal, left.signal]) : left.signal };
  try {
    for await (const page of pagesAhead(bucket, prefix, options)) for (const object of page) yield object;
  } finally {
    // What was asked for ahead and is no longer wanted.
    left.abort();
  }
}

async function* pagesAhead(bucket: Bucket, prefix: Key, options: Cancellable): AsyncGenerator<Page> {
  const read = (range: KeyRange, ahead: number) => readAhead(walkPages(bucket, prefix, range, options), ahead);
  let pages = read({}, 1);
  let few: Page[] = [];
  for (let next = await pages.next(); !next.done; next = await pages.next()) {
    yield next.value;
    few.push(next.value);
    if (few.length < FEW) continue;
    const ranges = rangesBehind(bucket, prefix, few.flat(), options);
    few = [];
    let end: Key | undefined;
    for await (const { item, found } of lookAhead(ranges, RANGES_AT_ONCE, async (range) => read(range, PAGES_AHEAD))) {
      yield* found;
      end = item.until;
    }
    if (end !== undefined) pages = read({ after: end }, 1);
  }
}

/**
 * Ranges behind the last of some objects that lie one behind the other, `FEW` pages of them, as far as the folder goes
 * that they are spread over: each of as many of its children as would have about `PAGES_PER_RANGE` pages of objects, if
 * they are like those that are known.
 */
async function* rangesBehind(
  bucket: Bucket,
  prefix: Key,
  objects: readonly ListedObject[],
  options: Cancellable,
): AsyncGenerator<KeyRange> {
  const [first, last] = [objects.at(0)?.key, objects.at(-1)?.key];
  if (first === undefined || last === undefined) return;
  const folder = commonFolder(first, last, prefix);
  const perChild = objects.length / new Set(objects.map(({ key }) => childOf(folder, key))).size;
  if (perChild < LEAST_PER_CHILD) return;
  const children = Math.ceil((PAGES_PER_RANGE * objects.length) / FEW / perChild);
  let after = last;
  let passed = 0;
  for await (const page of walkChildren(bucket, folder, childOf(folder, last), options)) {
    for (const child of page) {
      if (++passed % children !== 0) continue;
      yield { after, until: child };
      after = child;
    }
  }
}

/** The innermost folder at or below `prefix` that holds both keys. */
function commonFolder(left: Key, right: Key, prefix: Key): Key {
  let length = prefix.length;
  for (let index = length; index < left.length && left[index] === right[index]; index++) {
    if (left[index] === '/') length = index + 1;
  }
  return left.slice(0, length);
}

/** What a folder holds itself that the key is, or lies in. */
function childOf(folder: Key, key: Key): Key {
  const end = key.indexOf('/', folder.length);
  return end === -1 ? key : key.slice(0, end + 1);
}

/** Passes on what `pages` gives. At once, and whenever one is taken, it is seen to that `ahead` of them are asked for. */
function readAhead(pages: AsyncGenerator<Page>, ahead: number): AsyncGenerator<Page> {
  const ask = () => {
    const next = pages.next();
    // It is thrown when its turn comes, if it does.
    next.catch(() => {});
    return next;
  };
  const asked = Array.from({ length: ahead }, ask);
  return (async function* () {
    for (;;) {
      const next = await asked.shift();
      if (!next || next.done) return;
      asked.push(ask());
      yield next.value;
    }
  })();
}
