import { randomBytes } from 'node:crypto';
import type { Drafted } from './draft.ts';
import type { BegunSnapshot } from './first-commit.ts';
import type { Host, TreeEdit } from './host.ts';
import type { GitHubOptions } from './settings.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';
import { isOutrun, isRefusal, isUncertain, wasRepeated } from './translate.ts';
import type { Trees } from './trees.ts';
import { createBlob } from './upload.ts';

/**
 * Brings what was drafted onto the branch, as one commit behind `base`. Gives what the branch is then; undefined where
 * others moved it before, and nothing was done. That the host does not take the edits is thrown as it is: see
 * `isRefusedTree`.
 */
export type Push = (base: BegunSnapshot, drafted: Drafted, message: string) => Promise<Snapshot | undefined>;

/** The most commits of others that are looked through for one whose fate is not known. */
const MOST_LOOKED_THROUGH = 100;

export function createPush(host: Host, trees: Trees, snapshots: Snapshots, { log }: Pick<GitHubOptions, 'log'>): Push {
  /** Moves the branch. Gives what it is then; undefined where others moved it before. */
  const moveOn = async (to: BegunSnapshot, base: string): Promise<Snapshot | undefined> => {
    try {
      await host.moveBranch(to.head);
      return to;
    } catch (error) {
      // The answer to an earlier try may have been lost, though the branch was moved by it.
      const isLost = isUncertain(error) || wasRepeated(error);
      if (!isRefusal(error, 422) && !isLost) throw error;
      const now = await snapshots.latest();
      const hasMoved = now.head !== base;
      if (isLost && hasMoved && now.head !== undefined && (await isOnBranch(to.head, now.head, base))) return now;
      // The host may know better than what it tells: its replicas lag a little.
      if (hasMoved || isOutrun(error)) return undefined;
      throw host.translate(error, 'writes');
    }
  };

  /** Makes the tree, and sees to it that it is the one that was meant, as far as that is known. */
  const makeTree = async (base: string, edits: readonly TreeEdit[], expected: string | undefined): Promise<string> => {
    const tree = await host.createTree(base, edits);
    if (expected === undefined || tree === expected) return tree;
    log.warn('The host made another tree of texts than was meant: they are sent byte by byte.', { tree, expected });
    const again = await host.createTree(base, await Promise.all(edits.map(inBytes)));
    if (again !== expected) throw new Error(`The host made the tree ${again}, where ${expected} was meant.`);
    return again;
  };

  const inBytes = async ({ content, ...edit }: TreeEdit): Promise<TreeEdit> => {
    if (content === undefined) return edit;
    const body = JSON.stringify({ encoding: 'base64', content: Buffer.from(content).toString('base64') });
    return { ...edit, sha: await createBlob(host, body, {}) };
  };

  /** Whether a commit is on the branch, behind `base`: somebody may have gone on from it. */
  const isOnBranch = async (commit: string, head: string, base: string): Promise<boolean> => {
    const seen = new Set<string>([base]);
    const open = [head];
    for (let next = open.shift(); next !== undefined && seen.size <= MOST_LOOKED_THROUGH; next = open.shift()) {
      if (next === commit) return true;
      if (seen.has(next)) continue;
      seen.add(next);
      open.push(...(await host.parentsOf(next)));
    }
    return false;
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
