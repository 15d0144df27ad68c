import { setTimeout as delay } from 'node:timers/promises';
import { isStoreError, quoted, StoreError } from '../../../model/error.ts';
import { RETRY_SOON_SECONDS, shuttingDown } from '../../network.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { isRefusedTree, isTooLarge, type Refusal } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { type Change, keepRoot } from './changes.ts';
import { createDraft, type Draft, NeedsOwnCommit } from './draft.ts';
import { type Begin, commitMessage } from './first-commit.ts';
import { createPush, createTurns } from './push.ts';

/** Changes on their way to the branch. Those that come while a commit is made go out together in the next one. */
export interface CommitQueue {
  /**
   * Settles when the change is on the branch, or can't be made. Aborted while it waits, it is not made; once it is part
   * of a commit, it is.
   */
  run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result>;
  /** Throws `unavailable` when it was closed. */
  requireOpen(): void;
  /** Takes no more changes. Settles when no commit is under way; what waits is made first. */
  close(): Promise<void>;
}

/** Milliseconds for which the first change waits for others: few beside the three requests of a commit. */
const GATHER = 50;

/** The most changes in one commit, and bytes of text in them: the host gives up over what takes it long. */
const MOST_CHANGES = 500;
const MOST_TEXT = 4 * 1024 * 1024;

/** How many commits the host may refuse before those that are left of a batch are not parted any more. */
const MOST_REFUSALS = 20;

/** How many refusals are left. */
interface Budget {
  left: number;
}

/** How often in a row a commit is made because others moved the branch meanwhile. */
const ATTEMPTS = 30;

/** A change that waits, and how it ends for its caller. */
interface Waiting {
  readonly change: Change<unknown>;
  readonly signal: AbortSignal | undefined;
  /** Whether it is in a commit that is being made, and can't be taken back. */
  isUnderWay: boolean;
  resolve(result: unknown): void;
  reject(reason: unknown): void;
}

/** What changes come to in a draft. */
interface Applied {
  readonly made: readonly Waiting[];
  /** Tells every caller but those of `deferred`. */
  readonly settle: readonly (() => void)[];
  /** Those that have to go into a commit behind this one. */
  readonly deferred: readonly Waiting[];
}

/** Which changes are to be tried again, and whether because others moved the branch. */
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
      // What comes meanwhile goes along.
      await turns.next();
      await bring(takeBatch(waiting), { left: MOST_REFUSALS });
    }
    // In the same moment as the look at what waits: a change that comes now finds nobody at work.
    working = undefined;
  };

  /** Brings changes onto the branch, however often that moves meanwhile, and settles them all. */
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
      const reason = isRefusedTree(error) && !isTooLarge(error) ? notTaken(error) : host.translate(error, 'writes');
      const isRefused = isStoreError(reason) && reason.kind !== 'unavailable';
      refusals.left--;
      if (isRefused && left.length > 1 && refusals.left > 0) return halve(left, refusals);
      // Of those that were not tried alone, nobody knows whether they are what was refused.
      const told = isRefused && left.length > 1 ? refusedTogether(reason) : reason;
      for (const { reject } of left) reject(told);
    }
  };

  /** One of the changes is one that the host does not take: it must not fail those beside it. */
  const halve = async (batch: readonly Waiting[], refusals: Budget): Promise<void> => {
    const middle = batch.length >>> 1;
    await bring(batch.slice(0, middle), refusals);
    await bring(batch.slice(middle), refusals);
  };

  /** Makes one commit of as many changes as can be in it. */
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
        quota: host.quota.current(),
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

/** Takes from the front as many as go into one commit. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  let text = 0;
  const end = waiting.findIndex(({ change }, index) => {
    text += change.text ?? 0;
    return index > 0 && (index >= MOST_CHANGES || text > MOST_TEXT);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

const isWanted = ({ signal }: Waiting) => !signal?.aborted;

/** What is in no commit yet, or was in one that came to nothing, can be given up again, or has been meanwhile. */
function takeBack(item: Waiting): void {
  item.isUnderWay = false;
  if (item.signal?.aborted) item.reject(item.signal.reason);
}

/** Applies changes one behind the other. What each comes to is told when the commit is on the branch, refusals too. */
async function applyAll(draft: Draft, batch: readonly Waiting[]): Promise<Applied> {
  const made: Waiting[] = [];
  const settle: (() => void)[] = [];
  for (const [index, item] of batch.entries()) {
    try {
      const result = await item.change.apply(draft);
      made.push(item);
      settle.push(() => item.resolve(result));
    } catch (error) {
      // Those behind it as well: they may have been meant for what it leaves.
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

function notTaken(cause: Refusal): StoreError {
  const message = `The host of the repository does not take this, with these words: ${quoted(cause.message)}.`;
  return new StoreError('invalid-request', message, { cause });
}
