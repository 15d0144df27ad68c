import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { isStoreError } from '../../src/model/error.ts';
import { WriteThrottle } from '../../src/stores/github/host/rate-limits.ts';
import type { GitHubFake, OwnResponse } from '../../testing/servers/github.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, pathsIn, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import { respondWith } from './github-reading.ts';
import {
  bytesUpload,
  countCommits,
  event,
  GET_BRANCH,
  openRepository,
  POST_BLOB,
  POST_COMMIT,
  POST_TREE,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

/** Returns the Unix time in `seconds` from now. */
const inSeconds = (seconds: number) => Math.ceil(Date.now() / 1000) + seconds;

/** Stops the clock for the rate limits, so that the expected times do not depend on the speed of the machine. */
function stopClock(t: TestContext): void {
  const now = Date.now();
  t.mock.method(Date, 'now', () => now);
}

/** Returns headers with a `Retry-After` date, `seconds` after the `Date`. */
const untilDate = (seconds: number) => ({
  date: new Date(0).toUTCString(),
  'retry-after': new Date(seconds * 1000).toUTCString(),
});

/** Returns a check for an error whose `retryAfter` is between `min` and `max` seconds. */
function retryLater(min: number, max: number) {
  return (error: unknown) => {
    assert.ok(isStoreError(error, 'unavailable'), String(error));
    const { retryAfter = 0 } = error;
    assert.ok(retryAfter >= min && retryAfter <= max, `${retryAfter} seconds`);
    return true;
  };
}

/** Sets the reset of the quota before the first request, because it never changes within a window. */
function ending(host: GitHubFake, seconds: number): void {
  host.quota.reset = inSeconds(seconds);
}

describe('An exhausted quota', () => {
  it('is reported with its reset time, and no request is sent until then', async (t) => {
    stopClock(t);
    const { store, host, repository } = await openRepository(t, {}, { trust: 0 });
    ending(host, 600);
    await store.write(file('a'), upload('1'));
    host.quota.remaining = 0;
    await assert.rejects(store.write(file('a'), upload('2')), retryLater(590, 610));
    const { length } = host.requests;
    await assert.rejects(store.write(file('a'), upload('2')), retryLater(590, 610));
    await assert.rejects(store.write(file('b'), bytesUpload(randomBytes(100_000))), retryLater(590, 610));
    await assert.rejects(store.list(folder('')), retryLater(590, 610));
    await assert.rejects(store.remove(file('a')), retryLater(590, 610));
    assert.equal(host.requests.length, length);
    assert.equal(await countCommits(repository), 2);
  });

  it('is detected from the last successful response, before any request is rejected', async (t) => {
    stopClock(t);
    const { store, host } = await openRepository(t);
    // Two requests for the branch and its tree, three for the commit.
    Object.assign(host.quota, { remaining: 5, reset: inSeconds(600) });
    await store.write(file('a'), upload('1'));
    await assert.rejects(store.write(file('a'), upload('2')), retryLater(590, 610));
    assert.ok(host.requests.every(({ status }) => status < 400));
    assert.equal(store.quota?.()?.remaining, 0);
  });

  it('delays requests when its reset is near', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { quotaWait: 10 });
    ending(host, 2);
    await store.write(file('a'), upload('1'));
    host.quota.remaining = 1;
    await Promise.all([store.write(file('a'), upload('2')), store.write(file('b'), upload('b'))]);
    assert.equal(await repository.git('show', 'main:a'), '2');
    assert.ok(host.requests.filter(({ status }) => status >= 400).length <= 1);
  });

  it('does not delay the close of the store', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { quotaWait: 60, trust: 0 });
    ending(host, 30);
    await store.write(file('a'), upload('1'));
    host.quota.remaining = 0;
    const rejections = [
      store.write(file('a'), upload('2')),
      store.write(file('b'), bytesUpload(randomBytes(100_000))),
      store.list(folder('')),
    ].map((waiting) => assert.rejects(waiting, { code: 'shutting-down' }));
    await requireMember(store, 'close')();
    await Promise.all(rejections);
    assert.equal(await repository.git('show', 'main:a'), '1');
  });

  it('aborts a commit without partial changes, and the commit succeeds later', async (t) => {
    stopClock(t);
    const { store, host, repository } = await openRepository(t);
    ending(host, 600);
    await store.write(file('a'), upload('1'));
    host.quota.remaining = 3;
    await assert.rejects(store.write(file('a'), upload('2')), retryLater(590, 610));
    assert.equal(await repository.git('show', 'main:a'), '1');
  });

  it('is reported for an upload in progress', async (t) => {
    stopClock(t);
    const { store, host } = await openRepository(t);
    ending(host, 600);
    await store.write(file('a'), upload('1'));
    const headers = { 'x-ratelimit-remaining': '0' };
    host.intercept(({ route }) =>
      route === POST_BLOB
        ? { status: 403, headers, body: { message: 'API rate limit exceeded for user ID 1.' } }
        : undefined,
    );
    await assert.rejects(store.write(file('b'), bytesUpload(randomBytes(100_000))), retryLater(590, 610));
  });

  it('does not cause repeated requests when the clocks disagree about its reset', async (t) => {
    const { store, host } = await openRepository(t, {}, { quotaWait: 2 });
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inSeconds(-300)) };
    host.intercept(({ route }) =>
      route === POST_TREE
        ? { status: 403, headers, body: { message: 'API rate limit exceeded for user ID 1.' } }
        : undefined,
    );
    await assert.rejects(store.write(file('b'), upload('2')), retryLater(1, 60));
    assert.ok(sent(host, POST_TREE).length <= 4, `${sent(host, POST_TREE).length} requests`);
  });

  it('is logged once when it runs low, and once when it is exhausted', async (t) => {
    const { store, host, logged } = await openRepository(t);
    assert.equal(store.quota?.(), undefined);
    ending(host, 600);
    const { reset } = host.quota;
    await store.write(file('a'), upload('1'));
    host.quota.remaining = 8;
    for (const text of ['2', '3', '4']) await store.write(file('a'), upload(text)).catch(() => {});
    await assert.rejects(store.write(file('a'), upload('5')), ofKind('unavailable'));
    const warned = logged.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(warned, ['The GitHub quota is low.', 'The GitHub quota is exhausted.']);
    assert.deepEqual(store.quota?.(), { limit: 5000, remaining: 0, reset: new Date(reset * 1000) });
  });
});

describe('A secondary rate limit', () => {
  const secondary = 'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
  const responses: Readonly<Record<string, readonly [OwnResponse, number]>> = {
    '403 with seconds': [{ status: 403, headers: { 'retry-after': '7' }, body: { message: secondary } }, 7],
    '429 with seconds': [{ status: 429, headers: { 'retry-after': '7' }, body: { message: 'Too many' } }, 7],
    '403 with a message': [{ status: 403, body: { message: secondary } }, 60],
    '403 with the former message': [
      { status: 403, body: { message: 'You have triggered an abuse detection mechanism.' } },
      60,
    ],
    '429 without a time': [{ status: 429, body: 'slow down' }, 60],
    '429 with an HTTP date': [{ status: 429, headers: untilDate(7), body: { message: 'Too many' } }, 7],
    '403 with an HTTP date': [{ status: 403, headers: untilDate(7), body: { message: 'Forbidden' } }, 7],
    '403 with an invalid Retry-After': [{ status: 403, headers: { 'retry-after': 'soon' }, body: {} }, 60],
  };
  for (const [name, [response, seconds]] of Object.entries(responses)) {
    it(`applies to every request: ${name}`, async (t) => {
      stopClock(t);
      const { store, host, repository } = await openRepository(t, {}, { trust: 0 });
      await store.write(file('a'), upload('1'));
      host.intercept(({ route }) => (route === POST_COMMIT ? response : undefined));
      await assert.rejects(store.write(file('a'), upload('2')), retryLater(seconds, seconds));
      const { length } = host.requests;
      await assert.rejects(pathsIn(store, ''), retryLater(seconds, seconds));
      await assert.rejects(store.write(file('b'), upload('2')), retryLater(seconds, seconds));
      assert.equal(host.requests.length, length);
      assert.equal(await countCommits(repository), 2);
    });
  }

  it('delays requests when it is short', async (t) => {
    const { store, host, repository } = await openRepository(t, {}, { quotaWait: 10 });
    let times = 0;
    host.intercept(({ route }) =>
      route === POST_COMMIT && ++times === 1
        ? { status: 403, headers: { 'retry-after': '1' }, body: { message: secondary } }
        : undefined,
    );
    await store.write(file('a'), upload('1'));
    assert.equal(await countCommits(repository), 2);
    const [first, second] = sent(host, POST_COMMIT).map(({ time }) => time);
    assert.ok(first !== undefined && second !== undefined && second - first >= 1000);
  });

  it('rejects an operation that is aborted during the wait', async (t) => {
    const { store, host } = await openRepository(t, {}, { quotaWait: 2, trust: 0 });
    const limited = { status: 429, headers: { 'retry-after': '1' }, body: { message: 'Too many' } };
    host.intercept(({ route }) => (route === GET_BRANCH ? limited : undefined));
    const operations: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
      (signal) => store.list(folder(''), { signal }),
      (signal) => store.createFolder(folder('b'), { signal }),
      (signal) => store.write(file('b'), upload('x'), { signal }),
      (signal) => store.write(file('b'), bytesUpload(randomBytes(100_000)), { signal }),
      (signal) => requireMember(store, 'moveFolder')(folder('b'), folder('c'), { replace: false, signal }),
    ];
    for (const operate of operations) {
      const left = new AbortController();
      const working = operate(left.signal);
      void setImmediate().then(() => left.abort(new Error('left')));
      await assert.rejects(working, /left/);
    }
    host.intercept(undefined);
  });
});

describe('A host error with Retry-After', () => {
  for (const [header, seconds] of [
    [{ 'retry-after': '120' }, 120],
    [untilDate(120), 120],
    [{ 'retry-after': '9'.repeat(50) }, 3600],
  ] as const) {
    it(`passes on the Retry-After: ${header['retry-after'].slice(0, 30)}`, async (t) => {
      const { store, host } = await openRepository(t, {}, { trust: 0, retryAfter: 1 });
      host.intercept(respondWith(GET_BRANCH, { status: 503, headers: header, body: { message: 'Unicorn' } }));
      await assert.rejects(store.list(folder('')), retryLater(seconds, seconds));
    });
  }

  it('is retried after that time when the quota wait allows it', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0, quotaWait: 10 });
    let times = 0;
    host.intercept(({ route }) =>
      route === GET_BRANCH && ++times === 1 ? { status: 503, headers: { 'retry-after': '1' }, body: {} } : undefined,
    );
    assert.deepEqual(await pathsIn(store, ''), ['a']);
    const [first, second] = sent(host, GET_BRANCH).map(({ time }) => time);
    assert.ok(first !== undefined && second !== undefined && second - first >= 990);
  });

  it('does not delay the close of the store', async (t) => {
    const { store, host } = await openRepository(t, {}, { trust: 0, quotaWait: 60 });
    const headers = { 'retry-after': '30' };
    host.intercept(respondWith(GET_BRANCH, { status: 503, headers, body: {} }));
    const rejected = assert.rejects(store.write(file('a'), upload('1')), { code: 'shutting-down' });
    await until('the first attempt failed', () => sent(host, GET_BRANCH).length === 1);
    await requireMember(store, 'close')();
    await rejected;
  });

  it('is not retried when that time exceeds the quota wait', async (t) => {
    const { store, host } = await openRepository(t, {}, { trust: 0, quotaWait: 10 });
    const headers = { 'retry-after': '120' };
    host.intercept(respondWith(GET_BRANCH, { status: 503, headers, body: {} }));
    await assert.rejects(store.list(folder('')), retryLater(120, 120));
    assert.equal(sent(host, GET_BRANCH).length, 1);
  });

  it('is retried three times without that header, and the wait ends when the caller aborts', async (t) => {
    const { store, host, another } = await openRepository(t, {}, { trust: 0 });
    host.intercept(respondWith(GET_BRANCH, { status: 503, body: {} }));
    await assert.rejects(store.list(folder('')), retryLater(1, 10));
    assert.equal(sent(host, GET_BRANCH).length, 4);
    const left = new AbortController();
    const listing = another({ retryAfter: 3_600_000 }).list(folder(''), { signal: left.signal });
    await until('the first attempt failed', () => sent(host, GET_BRANCH).length === 5);
    left.abort(new Error('left'));
    await assert.rejects(listing, /left/);
  });

  it('does not count an empty quota header as a spent quota', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { trust: 0 });
    const headers = { 'x-ratelimit-remaining': '' };
    host.intercept(({ route }) => (route === GET_BRANCH ? { status: 503, headers, body: {} } : undefined));
    await assert.rejects(store.list(folder('')), retryLater(1, 10));
    host.intercept(undefined);
    assert.deepEqual(await pathsIn(store, ''), ['a']);
  });
});

describe('The write limit', () => {
  it('allows a quarter of the writes per minute at once, and the others one by one', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    for (const [writesPerMinute, burst, intervalMs] of [
      [12, 3, 6667],
      [80, 20, 1000],
    ] as const) {
      const throttle = new WriteThrottle(writesPerMinute);
      let acquired = 0;
      const waiting = Array.from({ length: burst + 2 }, async () => {
        await throttle.acquire('normal');
        acquired++;
      });
      for (const expected of [burst, burst + 1]) {
        await setImmediate();
        assert.equal(acquired, expected);
        t.mock.timers.tick(intervalMs - 1);
        await setImmediate();
        assert.equal(acquired, expected);
        t.mock.timers.tick(1);
      }
      await Promise.all(waiting);
      throttle.close();
    }
  });

  it('allows another burst after a minute without writes', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const throttle = new WriteThrottle(8);
    t.after(() => throttle.close());
    await Promise.all([throttle.acquire('normal'), throttle.acquire('normal')]);
    t.mock.timers.tick(60_000);
    await Promise.all([throttle.acquire('normal'), throttle.acquire('normal')]);
    const third = throttle.acquire('normal').then(() => true);
    assert.equal(await Promise.race([third, setImmediate(false)]), false);
    t.mock.timers.tick(10_000);
    assert.equal(await third, true);
  });

  it('sends the requests of a commit first', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const throttle = new WriteThrottle(4);
    await throttle.acquire('normal');
    const order: string[] = [];
    const waiting = (['normal', 'high', 'high'] as const).map(async (priority) => {
      await throttle.acquire(priority);
      order.push(priority);
    });
    t.mock.timers.tick(60_000);
    await Promise.all(waiting);
    assert.deepEqual(order, ['high', 'high', 'normal']);
    throttle.close();
  });

  it('rejects waiting and later requests when the store is closed', async () => {
    const throttle = new WriteThrottle(1);
    await throttle.acquire('normal');
    const waiting = throttle.acquire('normal');
    throttle.close();
    await assert.rejects(waiting, ofKind('unavailable'));
    await assert.rejects(throttle.acquire('high'), ofKind('unavailable'));
  });

  it('rejects an aborted upload before the uploads that wait before it', async (t) => {
    const { store, host } = await openRepository(t, {}, { writesPerMinute: 4 });
    await requireMember(store, 'stage')(bytesUpload(Buffer.from([0])));
    const left = new AbortController();
    const earlier = requireMember(store, 'stage')(bytesUpload(Buffer.from([0, 1])), { signal: left.signal });
    earlier.catch(() => {});
    const body = Readable.from([randomBytes(100_000)]);
    const writing = store.write(file('a'), { body, type: 'x/y' }, { signal: left.signal });
    await until('the upload has read the branch', () => sent(host, GET_BRANCH).length > 1);
    left.abort(new Error('left'));
    await assert.rejects(writing, /left/);
    await assert.rejects(earlier, /left/);
    assert.equal(sent(host, POST_BLOB).length, 1);
  });

  it('leaves capacity for reads during any number of slow uploads', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'a' } }, { writesPerMinute: 1000, trust: 0 });
    const bodies = Array.from({ length: 20 }, () => new Readable({ read() {} }));
    for (const body of bodies) body.push(randomBytes(100_000));
    const allArrived = event();
    let arrived = 0;
    host.intercept(({ route }) => {
      if (route === POST_BLOB && ++arrived === bodies.length) allArrived.happen();
      return undefined;
    });
    const uploads = bodies.map((body, number) => store.write(file(`${number}`), { body, type: 'x/y' }));
    await allArrived.happened;
    assert.deepEqual(await pathsIn(store, ''), ['a']);
    for (const body of bodies) body.push(null);
    await Promise.all(uploads);
  });
});
