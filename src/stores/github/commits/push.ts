import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import { RETRY_SOON_SECONDS } from '../../network.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { isErrorResponse, isMoveForbidden, isNotFastForward, isOutcomeUnknown, wasRetried } from '../host/errors.ts';
import type { Host, TreeEdit } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import type { Drafted } from './draft.ts';
import type { BegunSnapshot } from './first-commit.ts';

/**
 * Commits a draft on top of `base` and moves the branch. Returns the new snapshot; undefined if another client moved
 * the branch first, so that nothing changed. Throws the original error if GitHub rejects the edits (`isRejectedTree`).
 */
export type Push = (base: BegunSnapshot, drafted: Drafted, message: string) => Promise<BegunSnapshot | undefined>;

/** Maximum commits of other clients that are searched for a commit whose outcome is unknown. */
const MOST_LOOKED_THROUGH = 100;

/**
 * Attempts to read a head that is known to have moved but is still reported unchanged, and milliseconds between them.
 */
const LOOKS = 5;
const LOOK_AGAIN = 200;

/** Maximum attempts to move a branch that did not move, if GitHub refuses without a known reason. */
const MAX_REFUSED_MOVES = 3;

export function createPush(host: Host, trees: Trees, snapshots: Snapshots, { log }: Pick<GitHubOptions, 'log'>): Push {
  /** Moves the branch. Returns its new snapshot; undefined if another client moved it first. */
  const moveOn = async (to: BegunSnapshot, base: string): Promise<BegunSnapshot | undefined> => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await host.moveBranch(to.head)) return to;
        const error = host.invalidResponse(`The host did not confirm that the branch has commit ${to.head}.`);
        return await findOut(to, base, error);
      } catch (error) {
        // An earlier attempt may have moved the branch although its response was lost.
        const isLost = isOutcomeUnknown(error) || wasRetried(error);
        if (!isErrorResponse(error, 409, 422) && !isLost) throw error;
        if (isLost) return findOut(to, base, error);
        const { head, root } = await snapshots.latest();
        if (isNotFastForward(error)) return undefined;
        // The reason is not recognised. The branch itself shows whether it moved.
        if (head !== undefined && head !== base) {
          const isDone = await isOnBranch(to.head, head, base);
          if (isDone === 'unknown') throw unknownOutcome(error);
          return isDone === 'yes' ? { head, root } : undefined;
        }
        // The branch may have moved, but the replica that answered lags behind.
        if (isMoveForbidden(error) || attempt === MAX_REFUSED_MOVES) throw host.translate(error, 'writes');
        await delay(LOOK_AGAIN * attempt);
      }
    }
  };

  /**
   * Finds out whether the branch was moved although no response confirmed it. Throws `unavailable` if that remains
   * unknown.
   */
  const findOut = async (to: BegunSnapshot, base: string, error: unknown): Promise<BegunSnapshot | undefined> => {
    for (let look = 1; look <= LOOKS; look++) {
      const { head, root } = await snapshots.latest();
      if (head !== undefined && head !== base) {
        const isDone = await isOnBranch(to.head, head, base);
        if (isDone === 'unknown') break;
        return isDone === 'yes' ? { head, root } : undefined;
      }
      if (!isNotFastForward(error)) throw host.translate(error, 'writes');
      // The branch has moved, to our commit or another one, but the replica that answered lags behind.
      await delay(LOOK_AGAIN * look);
    }
    throw unknownOutcome(error);
  };

  /** Creates the tree and verifies its SHA where the expected one is known. */
  const makeTree = async (base: string, edits: readonly TreeEdit[], expected: string | undefined): Promise<string> => {
    const tree = await host.createTree(base, edits);
    if (expected === undefined || tree === expected) return tree;
    log.warn('The host made another tree of texts than was meant: they are sent byte by byte.', { tree, expected });
    const again = await host.createTree(base, await Promise.all(edits.map(inBytes)));
    if (again !== expected) throw host.invalidResponse(`The host made tree ${again} instead of ${expected}.`);
    return again;
  };

  const inBytes = async ({ content, ...edit }: TreeEdit): Promise<TreeEdit> => {
    if (content === undefined) return edit;
    const body = JSON.stringify({ encoding: 'base64', content: Buffer.from(content).toString('base64') });
    return { ...edit, sha: await host.createBlob(body, {}) };
  };

  /** Returns whether a commit is on the branch after `base`, possibly below newer commits. */
  const isOnBranch = async (commit: string, head: string, base: string): Promise<'yes' | 'no' | 'unknown'> => {
    const seen = new Set<string>([base]);
    const open = [head];
    for (let next = open.shift(); next !== undefined; next = open.shift()) {
      if (next === commit) return 'yes';
      if (seen.has(next)) continue;
      if (seen.size > MOST_LOOKED_THROUGH) return 'unknown';
      seen.add(next);
      open.push(...(await host.parentsOf(next)));
    }
    return 'no';
  };

  return async ({ head: base, root: baseTree }, { edits, root, trees: made }, message) => {
    const tree = await makeTree(baseTree, edits, root);
    const commit = await host.createCommit({ message: identified(message), tree, parents: [base] });
    const after = await moveOn({ head: commit, root: tree }, base);
    if (after) for (const each of made) trees.keep(each);
    return after;
  };
}

/**
 * Adds a unique line to a message. Otherwise, two services that make the same change in the same second create the same
 * commit, and both consider it theirs.
 */
function identified(message: string): string {
  return `${message}\n\nHoldall-Id: ${randomBytes(8).toString('hex')}`;
}

function unknownOutcome(cause: unknown): StoreError {
  const message = 'The host of the repository did not say whether the change was made: look before you send it again.';
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_SOON_SECONDS });
}

/**
 * Back-off between commits when other processes commit to the same branch. The first to move the branch wins; the
 * others must start again. Without pauses, the same process would always win: it starts its next commit before the
 * others learn that they lost.
 */
export interface CommitBackoff {
  /** Resolves when the next commit can start. */
  next(): Promise<void>;
  /**
   * Records that a commit started at `began` (`performance.now()`) on `base` succeeded; `head` is now the head of the
   * branch.
   */
  won(base: string, head: string, began: number): void;
  /** Records that a commit started at `began` failed because another process moved the branch first. */
  lost(began: number): void;
  /** Ends all waits, now and later. */
  end(): void;
}

/**
 * Factor by which the estimate of other processes decays with each commit, and the value below which it counts as 0.
 */
const REMEMBERED = 7 / 8;
const FORGOTTEN = 1 / 2;

/** Maximum estimate of other processes. Consecutive losses can all be caused by a single process that never pauses. */
const MOST_OTHERS = 4;

/** Milliseconds for which a push of another process counts as current activity. */
const RECENT = 60_000;

/**
 * Maximum commits without a pause while no other process is seen, because a process that always loses is never seen.
 */
const IN_A_ROW = 6;

/** Maximum pause in milliseconds. A commit that was slow because of retries says nothing about the next one. */
const LONGEST = 10_000;

export function createTurns(): CommitBackoff {
  const ended = new AbortController();
  /** Head and time of the last successful commit. */
  let last: { head: string; time: number } | undefined;
  /** Consecutive commits without an idle period as long as a commit. */
  let inARow = 0;
  let losses = 0;
  /** Estimated number of other processes that commit to the branch. */
  let others = 0;
  let free = 0;

  const pause = (milliseconds: number) => {
    free = performance.now() + Math.min(milliseconds, LONGEST);
    inARow = 0;
  };

  const guessOthers = (base: string, began: number) => {
    const wasMoved = last !== undefined && last.head !== base && began - last.time < RECENT;
    const before = others * REMEMBERED;
    return Math.max(Math.min(losses, MOST_OTHERS), wasMoved ? 1 : 0, before < FORGOTTEN ? 0 : before);
  };

  return {
    async next() {
      const { signal } = ended;
      // Timers can fire a fraction of a millisecond early.
      for (let left = free - performance.now(); left > 0 && !signal.aborted; left = free - performance.now()) {
        await delay(left, undefined, { signal }).catch(() => {});
      }
    },

    won(base, head, began) {
      const time = performance.now();
      const took = time - began;
      others = guessOthers(base, began);
      inARow = last === undefined || began - last.time > took ? 1 : inARow + 1;
      losses = 0;
      last = { head, time };
      // Another process needs slightly longer, because it must first read the changes. The random factor keeps several
      // paused processes from resuming at the same time.
      if (others > 0 || inARow >= IN_A_ROW) pause(took * Math.max(1, others) * (1 + Math.random()));
    },

    lost(began) {
      losses++;
      // Retries at once after the first loss, while the winner pauses. After that, waits a random time, so that several
      // losers do not collide again.
      if (losses > 1) pause((performance.now() - began) * Math.random());
    },

    end: () => ended.abort(),
  };
}
