import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError, quoted, StoreError } from '../../../model/error.ts';
import { ROOT } from '../../../model/path.ts';
import { shuttingDown } from '../../../model/store-errors.ts';
import { SHORT_RETRY_AFTER_SECONDS } from '../../network.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { type ErrorResponse, isRejectedTree, isTooLarge } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { type Change, keepRoot } from './changes.ts';
import { CommitBackoff } from './commit-backoff.ts';
import { Draft, type DraftResult, NeedsOwnCommit } from './draft.ts';
import { commitMessage, type EnsureFirstCommit, Pusher } from './push.ts';

/** Milliseconds for which the first change waits for others. Short compared with the three requests of a commit. */
const GATHER_MS = 50;

/** Maximum changes in one commit, and bytes of text in them. GitHub cancels requests that take too long. */
const MAX_CHANGES_PER_COMMIT = 500;
const MAX_TEXT_BYTES_PER_COMMIT = 4 * 1024 * 1024;

/** Maximum bytes of the trailers of a commit. GitHub documents no limit of messages, and readers should not need one. */
const MAX_TRAILER_BYTES_PER_COMMIT = 64 * 1024;

/** Maximum commits of a batch that GitHub may reject. After that, the batch is not split further. */
const MAX_REJECTED_COMMITS = 20;

/** Maximum consecutive attempts that fail because other clients moved the branch. */
const MAX_CONFLICTS = 30;

/** A queued change with its caller's promise. */
interface QueuedChange {
  readonly change: Change<unknown>;
  readonly signal: AbortSignal | undefined;
  /** Whether the change is part of a commit in progress and can't be cancelled. */
  isCommitting: boolean;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** Result of applying changes to a draft. */
interface AppliedChanges {
  readonly applied: readonly QueuedChange[];
  /** Callbacks that settle the promises of all changes except `deferred`. */
  readonly settlements: readonly (() => void)[];
  /** Changes that must go into a later commit. */
  readonly deferred: readonly QueuedChange[];
}

/** Result of one attempt to commit a batch: changes to retry, and whether other clients moved the branch. */
interface Attempt {
  readonly remaining: readonly QueuedChange[];
  readonly hasMoved: boolean;
}

/** Queue of changes to the branch. Changes that arrive during a commit share the next one. */
export class CommitQueue {
  readonly #host: Host;
  readonly #trees: Trees;
  readonly #snapshots: Snapshots;
  readonly #ensureFirstCommit: EnsureFirstCommit;
  readonly #options: GitHubOptions;
  readonly #pusher: Pusher;
  readonly #backoff = new CommitBackoff();
  readonly #queue: QueuedChange[] = [];
  #isClosed = false;
  #working: Promise<void> | undefined;

  constructor(
    host: Host,
    trees: Trees,
    snapshots: Snapshots,
    ensureFirstCommit: EnsureFirstCommit,
    options: GitHubOptions,
  ) {
    this.#host = host;
    this.#trees = trees;
    this.#snapshots = snapshots;
    this.#ensureFirstCommit = ensureFirstCommit;
    this.#options = options;
    this.#pusher = new Pusher(host, trees, snapshots, options.log);
  }

  /**
   * Applies a change. Resolves when it is on the branch, rejects if it can't be made. `signal` cancels the change only
   * until it is part of a commit.
   */
  async run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    this.requireOpen();
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const item: QueuedChange = {
      change,
      signal,
      isCommitting: false,
      resolve: (result) => resolve(result as Result),
      reject,
    };
    const abort = () => !item.isCommitting && reject(signal?.reason);
    signal?.addEventListener('abort', abort);
    this.#queue.push(item);
    this.#working ??= this.#work();
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Throws `unavailable` if the queue is closed. */
  requireOpen(): void {
    if (this.#isClosed) throw shuttingDown();
  }

  /** Rejects new changes, commits the queued ones, and resolves when no commit is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#backoff.close();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { gatherFor = GATHER_MS } = this.#options;
    if (gatherFor > 0) await delay(gatherFor);
    while (this.#queue.length > 0) {
      // Changes that arrive during the wait join the batch.
      await this.#backoff.wait();
      await this.#commitBatch(dequeueBatch(this.#queue), { left: MAX_REJECTED_COMMITS });
    }
    // No `await` between the check of the queue and this line, so that a new change always starts the work again.
    this.#working = undefined;
  }

  /** Commits changes, retries when other clients move the branch, and settles all of them. */
  async #commitBatch(batch: readonly QueuedChange[], rejections: { left: number }): Promise<void> {
    let remaining = batch;
    try {
      for (let conflicts = 0; remaining.length > 0 && conflicts < MAX_CONFLICTS; ) {
        for (const item of remaining) allowCancellation(item);
        await this.#backoff.wait();
        const attempt = await this.#attempt(remaining.filter(isPending));
        remaining = attempt.remaining;
        conflicts = attempt.hasMoved ? conflicts + 1 : 0;
      }
      for (const { reject } of remaining) reject(tooManyConflicts(this.#options.branch));
    } catch (error) {
      await this.#handleFailure(error, remaining, rejections);
    }
  }

  /** Rejects the changes of a failed batch. Splits a batch that GitHub rejects, so that one change fails alone. */
  async #handleFailure(error: unknown, batch: readonly QueuedChange[], rejections: { left: number }): Promise<void> {
    const isInvalid = isRejectedTree(error) && !isTooLarge(error);
    const reason = isInvalid ? rejectedChange(error) : this.#host.translate(error, 'writes');
    const isRejected = isStoreError(reason) && reason.kind !== 'unavailable';
    rejections.left--;
    if (isRejected && batch.length > 1 && rejections.left > 0) {
      const middle = batch.length >>> 1;
      await this.#commitBatch(batch.slice(0, middle), rejections);
      await this.#commitBatch(batch.slice(middle), rejections);
      return;
    }
    // Changes that were not tried alone might not be the cause of the rejection.
    const shared = isRejected && batch.length > 1 ? rejectedBatch(reason) : reason;
    for (const { reject } of batch) reject(shared);
  }

  /** Commits as many of the changes as fit into one commit. */
  async #attempt(batch: readonly QueuedChange[]): Promise<Attempt> {
    if (batch.length === 0) return { remaining: [], hasMoved: false };
    const startedAt = performance.now();
    const before = await this.#snapshots.latest();
    const base = await this.#trees.read(before.root);
    const pending = batch.filter(isPending);
    for (const item of pending) item.isCommitting = true;
    const { path = ROOT } = this.#options;
    const draft = new Draft(this.#trees, { head: before.head ?? '', base, served: path });
    const { applied, settlements, deferred } = await applyAll(draft, pending);
    if (applied.length > 0) await keepRoot(draft);
    const result = draft.finish();
    const summaries = applied.map(({ change }) => change.summarize(path));
    const trailers = applied.flatMap(({ change }) => change.trailers?.(path) ?? []);
    const isUnchanged = result.edits.length === 0 && trailers.length === 0;
    const isDone = isUnchanged || (await this.#commit(before, result, { summaries, trailers }, startedAt));
    if (!isDone) return { remaining: pending, hasMoved: true };
    for (const each of settlements) each();
    return { remaining: deferred, hasMoved: false };
  }

  /** Commits a draft of `before`. Returns false if the branch has moved. */
  async #commit(
    before: Snapshot,
    result: DraftResult,
    { summaries, trailers }: { readonly summaries: readonly string[]; readonly trailers: readonly string[] },
    startedAt: number,
  ): Promise<boolean> {
    const { head, root } = before;
    if (head === undefined) {
      await this.#ensureFirstCommit();
      return false;
    }
    const { branch, commitMessage: template, log } = this.#options;
    const message = commitMessage(template, summaries);
    const after = await this.#pusher.push({ head, root }, result, { message, trailers });
    if (!after) {
      this.#backoff.recordConflict(startedAt);
      return false;
    }
    this.#backoff.recordSuccess(head, after.head, startedAt);
    this.#snapshots.moved(before, after);
    log.onCommit(summaries.length);
    log.info('Committed.', {
      branch,
      commit: after.head,
      title: message.split('\n')[0],
      changes: summaries.length,
      quota: this.#host.quota(),
    });
    return true;
  }
}

/** Removes from the front as many changes as fit into one commit. */
function dequeueBatch(queue: QueuedChange[]): QueuedChange[] {
  let [text, trailers] = [0, 0];
  const end = queue.findIndex(({ change }, index) => {
    text += change.textBytes ?? 0;
    trailers += change.trailerBytes ?? 0;
    const isFull = text > MAX_TEXT_BYTES_PER_COMMIT || trailers > MAX_TRAILER_BYTES_PER_COMMIT;
    return index > 0 && (index >= MAX_CHANGES_PER_COMMIT || isFull);
  });
  return queue.splice(0, end < 0 ? queue.length : end);
}

const isPending = ({ signal }: QueuedChange) => !signal?.aborted;

/** Makes a change cancellable again, and rejects it if it was cancelled during the attempt. */
function allowCancellation(item: QueuedChange): void {
  item.isCommitting = false;
  if (item.signal?.aborted) item.reject(item.signal.reason);
}

/** Applies changes in order. Results and errors are reported only when the commit is on the branch. */
async function applyAll(draft: Draft, batch: readonly QueuedChange[]): Promise<AppliedChanges> {
  const applied: QueuedChange[] = [];
  const settlements: (() => void)[] = [];
  for (const [index, item] of batch.entries()) {
    try {
      const result = await item.change.apply(draft);
      applied.push(item);
      settlements.push(() => item.resolve(result));
    } catch (error) {
      // Defers all later changes as well, because they might depend on this one.
      if (error instanceof NeedsOwnCommit && index > 0) return { applied, settlements, deferred: batch.slice(index) };
      settlements.push(() => item.reject(error));
    }
  }
  return { applied, settlements, deferred: [] };
}

function tooManyConflicts(branch: string): StoreError {
  const message = `Other clients moved the branch ${branch} during every attempt to commit the change. Send it again.`;
  return new StoreError('file-busy', message, { retryAfter: SHORT_RETRY_AFTER_SECONDS });
}

function rejectedBatch(cause: StoreError): StoreError {
  const message = `GitHub rejected this change or another one in the same commit. Send it again. ${cause.message}`;
  return new StoreError('unavailable', message, { cause, retryAfter: SHORT_RETRY_AFTER_SECONDS });
}

function rejectedChange(cause: ErrorResponse): StoreError {
  const message = `GitHub rejected the change: ${quoted(cause.message)}.`;
  return new StoreError('rejected-by-store', message, { cause });
}
