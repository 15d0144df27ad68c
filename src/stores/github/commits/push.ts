import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import { RETRY_SOON_SECONDS } from '../../network.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { isForbidden, isOutrun, isRefusal, isUncertain, wasRepeated } from '../host/errors.ts';
import type { Host, TreeEdit } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import type { Drafted } from './draft.ts';
import type { BegunSnapshot } from './first-commit.ts';
import { createBlob } from './upload.ts';

/**
 * Brings what was drafted onto the branch, as one commit behind `base`. Gives what the branch is then; undefined where
 * others moved it before, and nothing was done. That the host does not take the edits is thrown as it is: see
 * `isRefusedTree`.
 */
export type Push = (base: BegunSnapshot, drafted: Drafted, message: string) => Promise<BegunSnapshot | undefined>;

/** The most commits of others that are looked through for one whose fate is not known. */
const MOST_LOOKED_THROUGH = 100;

/** How often the branch is looked at where it is known to have moved and still told as it was, and milliseconds between. */
const LOOKS = 5;
const LOOK_AGAIN = 200;

/** How often one commit is put on a branch that did not move, and that the host does not move either. */
const MAX_REFUSED_MOVES = 3;

export function createPush(host: Host, trees: Trees, snapshots: Snapshots, { log }: Pick<GitHubOptions, 'log'>): Push {
  /** Moves the branch. Gives what it is then; undefined where others moved it before. */
  const moveOn = async (to: BegunSnapshot, base: string): Promise<BegunSnapshot | undefined> => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await host.moveBranch(to.head)) return to;
        const error = host.invalidResponse(`The host did not confirm that the branch has commit ${to.head}.`);
        return await findOut(to, base, error);
      } catch (error) {
        // The response to an earlier try may have been lost, though the branch was moved by it.
        const isLost = isUncertain(error) || wasRepeated(error);
        if (!isRefusal(error, 409, 422) && !isLost) throw error;
        if (isLost) return findOut(to, base, error);
        const { head, root } = await snapshots.latest();
        if (isOutrun(error)) return undefined;
        // Refused in words that are not known, whatever they say: the branch itself tells whether it moved.
        if (head !== undefined && head !== base) {
          const isDone = await isOnBranch(to.head, head, base);
          if (isDone === 'unknown') throw unknownOutcome(error);
          return isDone === 'yes' ? { head, root } : undefined;
        }
        // It may have moved, and what answers has not heard of it yet.
        if (isForbidden(error) || attempt === MAX_REFUSED_MOVES) throw host.translate(error, 'writes');
        await delay(LOOK_AGAIN * attempt);
      }
    }
  };

  /** Whether the branch was moved although that was not told. Throws `unavailable` where nobody knows. */
  const findOut = async (to: BegunSnapshot, base: string, error: unknown): Promise<BegunSnapshot | undefined> => {
    for (let look = 1; look <= LOOKS; look++) {
      const { head, root } = await snapshots.latest();
      if (head !== undefined && head !== base) {
        const isDone = await isOnBranch(to.head, head, base);
        if (isDone === 'unknown') break;
        return isDone === 'yes' ? { head, root } : undefined;
      }
      if (!isOutrun(error)) throw host.translate(error, 'writes');
      // It has moved, to ours or to another's, and what answers has not heard of it yet.
      await delay(LOOK_AGAIN * look);
    }
    throw unknownOutcome(error);
  };

  /** Makes the tree, and sees to it that it is the one that was meant, as far as that is known. */
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
    return { ...edit, sha: await createBlob(host, body, {}) };
  };

  /** Whether a commit is on the branch, behind `base`: somebody may have gone on from it. */
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
 * The message with a line that no other has. Without it, two services that make the same change in the same second make
 * one and the same commit, and both would take it for theirs.
 */
function identified(message: string): string {
  return `${message}\n\nHoldall-Id: ${randomBytes(8).toString('hex')}`;
}

function unknownOutcome(cause: unknown): StoreError {
  const message = 'The host of the repository did not say whether the change was made: look before you send it again.';
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_SOON_SECONDS });
}

/**
 * When a process may begin its next commit, among others that commit to the same branch and that it can't ask. The
 * branch goes to whoever moves it first, and whoever is late begins anew. Without pauses it would always be the same
 * one: who has won is at his next commit already when the others hear that they have lost.
 */
export interface CommitBackoff {
  /** Settles when the next commit may be begun. */
  next(): Promise<void>;
  /** The commit that was begun at `began` of `performance.now()`, on `base`, is on the branch, which is at `head` now. */
  won(base: string, head: string, began: number): void;
  /** The commit that was begun at `began` came to nothing: others moved the branch before. */
  lost(began: number): void;
  /** From now on nobody waits any more. */
  end(): void;
}

/** How much of the guess how many others there are is left behind each commit, and below what there are none. */
const REMEMBERED = 7 / 8;
const FORGOTTEN = 1 / 2;

/** The most others that there are taken to be: who loses all the time may have lost to one alone, who makes no pauses. */
const MOST_OTHERS = 4;

/** Milliseconds for which a push of others counts as one of somebody who is at work now. */
const RECENT = 60_000;

/** How many commits are made without a pause while nobody else is seen: one who always loses is not seen. */
const IN_A_ROW = 6;

/** The longest pause, in milliseconds: a commit whose requests were repeated for long says nothing about the next. */
const LONGEST = 10_000;

export function createTurns(): CommitBackoff {
  const ended = new AbortController();
  /** The head that our last commit left, and when. */
  let last: { head: string; time: number } | undefined;
  /** Commits since the branch was left alone for as long as one takes. */
  let inARow = 0;
  let losses = 0;
  /** About how many others commit to the branch. */
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
      // A timer may be early by a fraction of a millisecond.
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
      // Another's commit takes a little longer, as he has to read first what ours changed; and several who pause must
      // not come back at the same moment.
      if (others > 0 || inARow >= IN_A_ROW) pause(took * Math.max(1, others) * (1 + Math.random()));
    },

    lost(began) {
      losses++;
      // At once, while the winner pauses; then at different times, for those who lose to each other.
      if (losses > 1) pause((performance.now() - began) * Math.random());
    },

    end: () => ended.abort(),
  };
}
