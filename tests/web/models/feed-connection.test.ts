import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { signal } from '@preact/signals';
import { followFeed } from '../../../web/src/model/feed/follow-feed.ts';
import {
  type FeedChange,
  type FeedEvent,
  groupNames,
  type OpenFeed,
  openFeed,
} from '../../../web/src/platform/service/changes.ts';
import { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createUrls } from '../../../web/src/platform/service/urls.ts';
import { when } from './folder-scene.ts';

const change = (path: string): FeedChange => ({ id: path, time: '', type: 'file.created', path });

/** A page that follows streams which the test controls. */
function startFollowing(
  cursor: string | undefined,
  {
    isSignedIn = async () => true,
    onLocks = () => {},
  }: {
    readonly isSignedIn?: () => Promise<boolean>;
    readonly onLocks?: (path: string | undefined) => void;
  } = {},
) {
  const target = signal<string | null>('in/');
  const log = signal<readonly string[]>([]);
  const add = (entry: string) => {
    log.value = [...log.peek(), entry];
  };
  /** The events of each stream, or the error with which it ends. */
  const streams: (readonly FeedEvent[] | Error)[] = [];
  async function* open(options: Parameters<OpenFeed>[0]): AsyncGenerator<FeedEvent> {
    add(`open ${options.folder} ${options.cursor}`);
    const events = streams.shift();
    if (events instanceof Error) throw events;
    yield* events ?? [];
    if (events !== undefined) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    options.signal.addEventListener('abort', () => resolve());
    await promise;
    throw new DOMException('Aborted.', 'AbortError');
  }
  return {
    target,
    streams,
    log,
    /** Resolves when this entry is the last one. */
    logged: (entry: string) => when(() => log.value.at(-1) === entry),
    start: () =>
      followFeed({
        open,
        cursor,
        target: () => target.value,
        checkSession: isSignedIn,
        onChange: ({ path }) => add(path),
        onLocks,
        onGap: () => add('gap'),
        delays: { first: 1, max: 4 },
      }),
  };
}

describe('The page', () => {
  it('continues after each end of a stream where that ended, also in another folder', async () => {
    const page = startFollowing('c0');
    page.streams.push(
      [{ cursor: 'c0' }, { change: change('in/a'), cursor: 'c1' }, { cursor: 'c2' }],
      new ServiceError(503, '', { code: 'overloaded' }),
      new ServiceError(0, ''),
      [{ cursor: 'c3' }],
    );
    page.start();
    await page.logged('open in/ c3');
    page.target.value = null;
    page.target.value = 'other/';
    await page.logged('open other/ c3');
    const opened = ['open in/ c0', 'in/a', 'open in/ c2', 'open in/ c2', 'open in/ c2', 'open in/ c3'];
    assert.deepEqual(page.log.value, [...opened, 'open other/ c3']);
  });

  it('reads again what it shows once a stream has begun, if changes can be missing', async () => {
    const page = startFollowing(undefined);
    page.streams.push([{ cursor: 'c1' }], new ServiceError(400, '', { code: 'cursor-expired' }), [{ cursor: 'c9' }]);
    page.start();
    await page.logged('open in/ c9');
    const opened = ['open in/ undefined', 'gap', 'open in/ c1', 'open in/ undefined', 'gap', 'open in/ c9'];
    assert.deepEqual(page.log.value, opened);
  });

  it('continues after the session ended only if a user has signed in since', async () => {
    const answers = [true, false];
    const page = startFollowing('c0', { isSignedIn: async () => answers.shift() ?? false });
    page.streams.push([{ cursor: 'c1' }], new ServiceError(0, '', { code: 'session-ended' }), [{ cursor: 'c2' }]);
    page.streams.push(new ServiceError(401, ''));
    page.start();
    await page.logged('open in/ c2');
    await when(() => answers.length === 0);
    assert.deepEqual(page.log.value, ['open in/ c0', 'open in/ c1', 'open in/ c1', 'open in/ c2']);
  });

  it('reads the locks again when a stream begins, and when the service announces a change of them', async () => {
    const locked: unknown[] = [];
    const page = startFollowing('c0', { onLocks: (path) => locked.push(path) });
    page.streams.push([{ cursor: 'c0' }, { cursor: 'c1' }, { locked: 'in/a' }], [{ cursor: 'c2' }, { locked: 'in/' }]);
    page.start();
    await page.logged('open in/ c2');
    assert.deepEqual(locked, [undefined, 'in/a', undefined, 'in/']);
  });

  it('stops following a folder that the user can no longer see', async () => {
    const page = startFollowing('c0');
    page.streams.push(new ServiceError(0, '', { code: 'permission-denied' }));
    page.start();
    await page.logged('gap');
    page.target.value = 'other/';
    await page.logged('open other/ c0');
    assert.deepEqual(page.log.value, ['open in/ c0', 'gap', 'open other/ c0']);
  });
});

/** Starts a service whose stream sends this text, and returns its events. */
async function eventsOf(t: TestContext, respond: (response: ServerResponse) => void): Promise<readonly FeedEvent[]> {
  const server = createServer((_request, response) => respond(response)).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const urls = createUrls(new URL(`http://127.0.0.1:${port}/`));
  const { signal: aborted } = new AbortController();
  return Array.fromAsync(openFeed(urls, { folder: '', cursor: undefined, hasLocks: true, signal: aborted }));
}

describe('A stream of changes', () => {
  it('consists of changes and cursors, in any chunks, with comments ignored', async (t) => {
    const created = change('ü.txt');
    const text = `retry: 2000\nid: c0\n\n: heartbeat\nid: c1\n\ndata: ${JSON.stringify(created)}\n\nid: c2\ndata: ${JSON.stringify(created)}\n\nid: lost`;
    const events = await eventsOf(t, (response) => {
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
      response.end();
    });
    assert.deepEqual(events, [
      { change: undefined, cursor: 'c0' },
      { change: undefined, cursor: 'c1' },
      { change: created, cursor: undefined },
      { change: created, cursor: 'c2' },
    ]);
  });

  it('announces changes of locks, which are no changes of files', async (t) => {
    const text = `id: c0\n\nevent: locks\ndata: {"path":"a/ü.txt"}\n\n`;
    assert.deepEqual(await eventsOf(t, (response) => response.end(text)), [
      { change: undefined, cursor: 'c0' },
      { locked: 'a/ü.txt' },
    ]);
  });

  it('fails with the error of the service, instead of a stream and at its end', async (t) => {
    const failure = JSON.stringify({ success: false, code: 'session-ended', error: 'Sign in.' });
    const inStream = eventsOf(t, (response) => response.end(`event: closed\ndata: ${failure}\n\n`));
    await assert.rejects(inStream, { code: 'session-ended', isSignInRequired: true });
    const refused = eventsOf(t, (response) => response.writeHead(503, { 'retry-after': '30' }).end());
    await assert.rejects(refused, { status: 503, retryAfter: 30 });
  });
});

describe('The names of a request', () => {
  it('are at most 100, and short enough for a URL', () => {
    const paths = Array.from({ length: 250 }, (_, index) => `in/${index}${index % 2 ? '/' : ''}`);
    const groups = groupNames(paths);
    assert.deepEqual(
      groups.map((names) => names.length),
      [100, 100, 50],
    );
    assert.deepEqual(groups[0]?.slice(0, 2), ['0', '1/']);
    const long = groupNames(Array.from({ length: 4 }, (_, index) => `${index}${'長'.repeat(200)}`));
    assert.deepEqual(
      long.map((names) => names.length),
      [2, 2],
    );
  });
});
