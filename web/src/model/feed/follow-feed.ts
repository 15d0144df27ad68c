import { effect, untracked } from '@preact/signals';
import type { FeedChange, OpenFeed } from '../../platform/service/changes.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';

export interface FollowOptions {
  readonly open: OpenFeed;
  /** The cursor from which the page has seen no change. Undefined if changes can be missing before the stream. */
  readonly cursor: string | undefined;
  /** Returns the folder to follow; null for none. Reads signals. The stream restarts when one of them changes. */
  readonly target: () => string | null;
  /**
   * Called when the service reports that the session has ended. Resolves to whether a user has signed in since. Otherwise, the
   * stream ends until the target changes.
   */
  readonly checkSession: () => Promise<boolean>;
  readonly onChange: (change: FeedChange) => void;
  /**
   * Called if the locks of a file, or of a folder and everything in it, have changed. `undefined`: any locks can have changed,
   * because a stream has begun.
   */
  readonly onLocks: (path: string | undefined) => void;
  /** Called if changes can be missing: the page must read again what it shows. */
  readonly onGap: () => void;
  /** Milliseconds before the first reconnection, and at most. The delay doubles with each failure. */
  readonly delays?: { readonly first: number; readonly max: number };
}

const DELAYS = { first: 2_000, max: 60_000 };

/**
 * Follows the changes of the target for the lifetime of the page. Reconnects after each failure, and continues where the
 * last stream ended. Reports no failure: without the feed, the page is only updated later.
 */
export function followFeed({ cursor, ...options }: FollowOptions): void {
  const position: Position = { cursor, hasGap: cursor === undefined };
  effect(() => {
    const folder = options.target();
    if (folder === null) return undefined;
    const ending = new AbortController();
    untracked(() => void follow(options, { folder, position, signal: ending.signal }));
    return () => ending.abort();
  });
}

interface Position {
  cursor: string | undefined;
  /** Whether changes before the position can be missing. */
  hasGap: boolean;
}

interface Stream {
  readonly folder: string;
  readonly position: Position;
  readonly signal: AbortSignal;
}

async function follow(options: Omit<FollowOptions, 'cursor'>, stream: Stream): Promise<void> {
  const { first, max } = options.delays ?? DELAYS;
  for (let failures = 0; !stream.signal.aborted; ) {
    const error = await readStream(options, stream, () => {
      failures = 0;
    });
    if (stream.signal.aborted || error === 'end') return;
    if (error === 'retry') continue;
    const delay = Math.min(first * 2 ** failures, max);
    failures++;
    await pause(Math.max(delay, (error?.retryAfter ?? 0) * 1_000) * (0.75 + Math.random() / 2), stream.signal);
  }
}

/**
 * Reads one stream to its end. Returns what to do then: `retry` at once, `end` until the target changes, or reconnect after
 * a delay, which an error can determine.
 */
async function readStream(
  { open, checkSession, onChange, onLocks, onGap }: Omit<FollowOptions, 'cursor'>,
  { folder, position, signal }: Stream,
  onConnected: () => void,
): Promise<'retry' | 'end' | ServiceError | undefined> {
  try {
    let isFirst = true;
    for await (const { change, locked, cursor } of open({ folder, cursor: position.cursor, signal })) {
      if (signal.aborted) return 'end';
      onConnected();
      if (isFirst) onLocks(undefined);
      isFirst = false;
      if (locked !== undefined) onLocks(locked);
      if (change) onChange(change);
      position.cursor = cursor ?? position.cursor;
      if (position.hasGap) {
        position.hasGap = false;
        onGap();
      }
    }
    return undefined;
  } catch (error) {
    if (isAbort(error)) return 'end';
    const problem = asServiceError(error);
    if (problem.code === 'cursor-expired' || problem.code === 'invalid-cursor') {
      Object.assign(position, { cursor: undefined, hasGap: true });
      return 'retry';
    }
    if (problem.isSignInRequired) return (await checkSession()) ? 'retry' : 'end';
    // The page then shows why the folder can't be shown any longer.
    if (problem.isPermissionDenied) onGap();
    return problem.isPermissionDenied || problem.isNotFound ? 'end' : problem;
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
