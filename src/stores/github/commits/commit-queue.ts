import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError, quoted, StoreError } from '../../../model/error.ts';
import { shuttingDown } from '../../../model/store-errors.ts';
import { RETRY_SOON_SECONDS } from '../../network.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { type ErrorResponse, isRejectedTree, isTooLarge } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { type Change, keepRoot } from './changes.ts';
import { createDraft, type Draft, NeedsOwnCommit } from './draft.ts';
import { type Begin, commitMessage } from './first-commit.ts';
import { createPush, createTurns } from './push.ts';

/** Queue of changes to the branch. Changes that arrive during a commit share the next one. */
export interface CommitQueue {
  /**
   * Applies a change. Resolves when it is on the branch, rejects if it can't be made. `signal` cancels the change only
   * until it is part of a commit.
   */
  run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result>;
  /** Throws `unavailable` if the queue is closed. */
  requireOpen(): void;
  /** Rejects new changes, commits the queued ones, and resolves when no commit is in progress. */
  close(): Promise<void>;
}

/** Milliseconds for which the first change waits for others. Short compared with the three requests of a commit. */
const GATHER = 50;

/** Maximum changes in one commit, and bytes of text in them. GitHub cancels requests that take too long. */
const MOST_CHANGES = 500;
const MOST_TEXT = 4 * 1024 * 1024;

/** Maximum commits of a batch that GitHub may reject. After that, the batch is not split further. */
const MOST_REFUSALS = 20;

/** Remaining rejected commits of a batch. */
interface Budget {
  left: number;
}

/** Maximum consecutive attempts that fail because other clients moved the branch. */
const ATTEMPTS = 30;

/** A queued change with its caller's promise. */
interface Waiting {
  readonly change: Change<unknown>;
  readonly signal: AbortSignal | undefined;
  /** Whether the change is part of a commit in progress and can't be cancelled. */
  isUnderWay: boolean;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** Result of applying changes to a draft. */
interface Applied {
  readonly made: readonly Waiting[];
  /** Callbacks that settle the promises of all changes except `deferred`. */
  readonly settle: readonly (() => void)[];
  /** Changes that must go into a later commit. */
  readonly deferred: readonly Waiting[];
}

/** Changes to retry, and whether the reason is that other clients moved the branch. */
interface Attempt {
  readonly again: readonly Waiting[];
  readonly hasMoved: boolean;
}

export function createCommitQueue(
  host: Host,
  trees: Trees,
  snapshots: Snapshots,
  begin: Begin,
  { branch, commitMessage: template, gatherFor = GATHER, log }: GitHubOptions,
): CommitQueue {
  const push = createPush(host, trees, snapshots, { log });
  const turns = createTurns();
  const waiting: Waiting[] = [];
  let isClosed = false;
  let working: Promise<void> | undefined;

  const work = async () => {
    if (gatherFor > 0) await delay(gatherFor);
    while (waiting.length > 0) {
      // Changes that arrive during the wait join the batch.
      await turns.next();
      await bring(takeBatch(waiting), { left: MOST_REFUSALS });
    }
    // No `await` between the check of the queue and this line, so that a new change always starts the work again.
    working = undefined;
  };

  /** Commits changes, retries when other clients move the branch, and settles all of them. */
  const bring = async (batch: readonly Waiting[], refusals: Budget): Promise<void> => {
    let left = batch;
    try {
      for (let losses = 0; left.length > 0 && losses < ATTEMPTS; ) {
        for (const item of left) takeBack(item);
        await turns.next();
        const { again, hasMoved } = await attemptCommit(left.filter(isWanted));
        left = again;
        losses = hasMoved ? losses + 1 : 0;
      }
      for (const { reject } of left) reject(tooBusy(branch));
    } catch (error) {
      const reason = isRejectedTree(error) && !isTooLarge(error) ? notTaken(error) : host.translate(error, 'writes');
      const isRefused = isStoreError(reason) && reason.kind !== 'unavailable';
      refusals.left--;
      if (isRefused && left.length > 1 && refusals.left > 0) return halve(left, refusals);
      // Changes that were not tried alone may not be the cause of the rejection.
      const told = isRefused && left.length > 1 ? refusedTogether(reason) : reason;
      for (const { reject } of left) reject(told);
    }
  };

  /** Splits a batch that GitHub rejects, so that one invalid change does not fail the others. */
  const halve = async (batch: readonly Waiting[], refusals: Budget): Promise<void> => {
    const middle = batch.length >>> 1;
    await bring(batch.slice(0, middle), refusals);
    await bring(batch.slice(middle), refusals);
  };

  /** Commits as many of the changes as fit into one commit. */
  const attemptCommit = async (batch: readonly Waiting[]): Promise<Attempt> => {
    if (batch.length === 0) return { again: [], hasMoved: false };
    const began = performance.now();
    const before = await snapshots.latest();
    const base = await trees.read(before.root);
    const wanted = batch.filter(isWanted);
    for (const item of wanted) item.isUnderWay = true;
    const draft = createDraft(trees, base);
    const { made, settle, deferred } = await applyAll(draft, wanted);
    if (made.length > 0) await keepRoot(draft);
    const drafted = draft.finish();
    if (drafted.edits.length > 0) {
      const { head, root } = before;
      if (head === undefined) {
        await begin();
        return { again: wanted, hasMoved: true };
      }
      const message = commitMessage(
        template,
        made.map(({ change }) => change.summary),
      );
      const after = await push({ head, root }, drafted, message);
      if (!after) {
        turns.lost(began);
        return { again: wanted, hasMoved: true };
      }
      turns.won(head, after.head, began);
      snapshots.moved(before, after);
      log.committed(made.length);
      log.info('Committed.', {
        branch,
        commit: after.head,
        title: message.split('\n')[0],
        changes: made.length,
        quota: host.quota(),
      });
    }
    for (const end of settle) end();
    return { again: deferred, hasMoved: false };
  };

  const requireOpen = () => {
    if (isClosed) throw shuttingDown();
  };

  return {
    async run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result> {
      signal?.throwIfAborted();
      requireOpen();
      const { promise, resolve, reject } = Promise.withResolvers<Result>();
      const item: Waiting = {
        change,
        signal,
        isUnderWay: false,
        resolve: (result) => resolve(result as Result),
        reject,
      };
      const abort = () => !item.isUnderWay && reject(signal?.reason);
      signal?.addEventListener('abort', abort);
      waiting.push(item);
      working ??= work();
      return promise.finally(() => signal?.removeEventListener('abort', abort));
    },

    requireOpen,

    async close() {
      isClosed = true;
      turns.end();
      await working;
    },
  };
}

/** Removes from the front as many changes as fit into one commit. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  let text = 0;
  const end = waiting.findIndex(({ change }, index) => {
    text += change.text ?? 0;
    return index > 0 && (index >= MOST_CHANGES || text > MOST_TEXT);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

const isWanted = ({ signal }: Waiting) => !signal?.aborted;

/** Makes a change cancellable again, and rejects it if it was cancelled during the attempt. */
function takeBack(item: Waiting): void {
  item.isUnderWay = false;
  if (item.signal?.aborted) item.reject(item.signal.reason);
}

/** Applies changes in order. Results and errors are reported only when the commit is on the branch. */
async function applyAll(draft: Draft, batch: readonly Waiting[]): Promise<Applied> {
  const made: Waiting[] = [];
  const settle: (() => void)[] = [];
  for (const [index, item] of batch.entries()) {
    try {
      const result = await item.change.apply(draft);
      made.push(item);
      settle.push(() => item.resolve(result));
    } catch (error) {
      // Defers all later changes as well, because they may depend on this one.
      if (error instanceof NeedsOwnCommit && index > 0) return { made, settle, deferred: batch.slice(index) };
      settle.push(() => item.reject(error));
    }
  }
  return { made, settle, deferred: [] };
}

function tooBusy(branch: string): StoreError {
  const message = `The branch ${branch} was moved by others again and again while the change was made.`;
  return new StoreError('unavailable', message, { retryAfter: RETRY_SOON_SECONDS });
}

function refusedTogether(cause: StoreError): StoreError {
  const message = `The host of the repository refuses this, or changes that came with it: ${cause.message}`;
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_SOON_SECONDS });
}

function notTaken(cause: ErrorResponse): StoreError {
  const message = `The host of the repository does not take this, with these words: ${quoted(cause.message)}.`;
  return new StoreError('invalid-request', message, { cause });
}
