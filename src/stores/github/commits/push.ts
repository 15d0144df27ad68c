import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import { RETRY_SOON_SECONDS, type StoreLog } from '../../network.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { isErrorResponse, isMoveForbidden, isNotFastForward, isOutcomeUnknown, wasRetried } from '../host/errors.ts';
import type { Host, TreeEdit } from '../host/host.ts';
import type { DraftResult } from './draft.ts';
import type { CommittedSnapshot } from './first-commit.ts';

/** Maximum commits of other clients that are searched for a commit whose outcome is unknown. */
const MAX_SEARCHED_COMMITS = 100;

/**
 * Attempts to read a head that is known to have moved but is still reported unchanged, and milliseconds between them.
 */
const MAX_HEAD_READS = 5;
const HEAD_READ_DELAY_MS = 200;

/** Maximum attempts to move a branch that did not move, if GitHub refuses without a known reason. */
const MAX_REFUSED_MOVES = 3;

/** Commits drafts to the branch: creates the tree and the commit, and moves the branch. */
export class Pusher {
  readonly #host: Host;
  readonly #trees: Trees;
  readonly #snapshots: Snapshots;
  readonly #log: StoreLog;

  constructor(host: Host, trees: Trees, snapshots: Snapshots, log: StoreLog) {
    this.#host = host;
    this.#trees = trees;
    this.#snapshots = snapshots;
    this.#log = log;
  }

  /**
   * Commits a draft on top of `base` and moves the branch. Returns the new snapshot; undefined if another client moved
   * the branch first, so that nothing changed. Throws the original error if GitHub rejects the edits
   * (`isRejectedTree`).
   */
  async push(base: CommittedSnapshot, draft: DraftResult, message: string): Promise<CommittedSnapshot | undefined> {
    const tree = await this.#createTree(base.root, draft);
    const commit = await this.#host.createCommit({ message: withId(message), tree, parents: [base.head] });
    const after = await this.#moveBranch({ head: commit, root: tree }, base.head);
    if (after) for (const each of draft.trees) this.#trees.add(each);
    return after;
  }

  /** Creates the tree and verifies its SHA if the expected one is known. */
  async #createTree(base: string, { edits, root: expected }: DraftResult): Promise<string> {
    const tree = await this.#host.createTree(base, edits);
    if (expected === undefined || tree === expected) return tree;
    this.#log.warn('GitHub changed the bytes of a text. The texts are sent again as blobs.', {
      tree,
      expected,
    });
    const treeOfBlobs = await this.#host.createTree(base, await Promise.all(edits.map((edit) => this.#toBlob(edit))));
    if (treeOfBlobs === expected) return treeOfBlobs;
    throw this.#host.invalidResponse(`GitHub created tree ${treeOfBlobs} instead of ${expected}.`);
  }

  /** Replaces the text of an edit by a blob. */
  async #toBlob({ content, ...edit }: TreeEdit): Promise<TreeEdit> {
    if (content === undefined) return edit;
    const body = JSON.stringify({ encoding: 'base64', content: Buffer.from(content).toString('base64') });
    return { ...edit, sha: await this.#host.createBlob(body, {}) };
  }

  /** Moves the branch. Returns its new snapshot; undefined if another client moved it first. */
  async #moveBranch(target: CommittedSnapshot, base: string): Promise<CommittedSnapshot | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (await this.#host.moveBranch(target.head)) return target;
      } catch (error) {
        // An earlier attempt may have moved the branch although its response was lost.
        if (isOutcomeUnknown(error) || wasRetried(error)) return this.#findOutcome(target, base, error);
        if (!isErrorResponse(error, 409, 422)) throw error;
        const current = await this.#snapshots.latest();
        if (isNotFastForward(error)) return undefined;
        // The reason is not recognised. The branch itself shows whether it moved.
        if (hasMoved(current, base)) return this.#outcomeAt(current, target, base, error);
        // The branch may have moved, but the replica that responded lags behind.
        if (isMoveForbidden(error) || attempt === MAX_REFUSED_MOVES) throw this.#host.translate(error, 'writes');
        await delay(HEAD_READ_DELAY_MS * attempt);
        continue;
      }
      const error = this.#host.invalidResponse(`GitHub did not confirm that the branch has commit ${target.head}.`);
      return this.#findOutcome(target, base, error);
    }
  }

  /**
   * Finds out whether the branch was moved although no response confirmed it. Throws `unavailable` if that remains
   * unknown.
   */
  async #findOutcome(target: CommittedSnapshot, base: string, error: unknown): Promise<CommittedSnapshot | undefined> {
    for (let read = 1; read <= MAX_HEAD_READS; read++) {
      const current = await this.#snapshots.latest();
      if (hasMoved(current, base)) return this.#outcomeAt(current, target, base, error);
      if (!isNotFastForward(error)) throw this.#host.translate(error, 'writes');
      // The branch has moved, to our commit or another one, but the replica that responded lags behind.
      await delay(HEAD_READ_DELAY_MS * read);
    }
    throw unknownOutcome(error);
  }

  /** Returns a snapshot that contains our commit, undefined if it does not. Throws `unavailable` if that is unknown. */
  async #outcomeAt(
    current: CommittedSnapshot,
    target: CommittedSnapshot,
    base: string,
    error: unknown,
  ): Promise<CommittedSnapshot | undefined> {
    const isOnBranch = await this.#isOnBranch(target.head, current.head, base);
    if (isOnBranch === 'unknown') throw unknownOutcome(error);
    return isOnBranch === 'yes' ? current : undefined;
  }

  /** Returns whether a commit is on the branch after `base`, possibly below newer commits. */
  async #isOnBranch(commit: string, head: string, base: string): Promise<'yes' | 'no' | 'unknown'> {
    const visited = new Set<string>([base]);
    const pending = [head];
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      if (next === commit) return 'yes';
      if (visited.has(next)) continue;
      if (visited.size > MAX_SEARCHED_COMMITS) return 'unknown';
      visited.add(next);
      pending.push(...(await this.#host.parentsOf(next)));
    }
    return 'no';
  }
}

function hasMoved(snapshot: Snapshot, base: string): snapshot is CommittedSnapshot {
  return snapshot.head !== undefined && snapshot.head !== base;
}

/**
 * Adds a unique line to a message. Otherwise, two services that make the same change in the same second create the same
 * commit, and both consider it theirs.
 */
function withId(message: string): string {
  return `${message}\n\nHoldall-Id: ${randomBytes(8).toString('hex')}`;
}

function unknownOutcome(cause: unknown): StoreError {
  const message = 'GitHub did not confirm the change. Check whether it was made before you send it again.';
  return new StoreError('outcome-unknown', message, { cause, retryAfter: RETRY_SOON_SECONDS });
}
