import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../domain/error.ts';
import { SOON } from '../../network.ts';
import type { Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import type { Host, TreeEdit } from '../host/host.ts';
import { isForbidden, isOutrun, isRefusal, isUncertain, wasRepeated } from '../host/translate.ts';
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
  return new StoreError('unavailable', message, { cause, retryAfter: SOON });
}
