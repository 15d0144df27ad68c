import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import { ROOT } from '../../../model/path.ts';
import type { Cancellable } from '../../../model/store.ts';
import { SHORT_RETRY_AFTER_SECONDS, type StoreLog } from '../../network.ts';
import { MARKER } from '../branch/reserved-names.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Trees } from '../branch/trees.ts';
import { isErrorResponse, isMoveForbidden, isNotFastForward, isOutcomeUnknown, wasRetried } from '../host/errors.ts';
import type { Host, TreeEdit } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import type { DraftResult } from './draft.ts';
import { formatId } from './trailers.ts';

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
  async push(
    base: CommittedSnapshot,
    draft: DraftResult,
    { message, trailers }: CommitText,
  ): Promise<CommittedSnapshot | undefined> {
    // A commit that only records something has the tree of its parent.
    const tree = draft.edits.length === 0 ? base.root : await this.#createTree(base.root, draft);
    const text = withTrailers(message, trailers);
    const commit = await this.#host.createCommit({ message: text, tree, parents: [base.head] });
    const after = await this.#moveBranch({ head: commit, root: tree }, base.head);
    if (after) for (const each of draft.trees) this.#trees.add(each);
    return after;
  }

  /** Creates the tree and verifies its SHA if the expected one is known. */
  async #createTree(base: string, { edits, root: expected }: DraftResult): Promise<string> {
    const tree = await this.#host.createTree(base, edits);
    if (expected === undefined || tree === expected) return tree;
    this.#log.warn('GitHub changed the bytes of a text file. The text files are sent again as blobs.', {
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
        // An earlier attempt might have moved the branch although its response was lost.
        if (isOutcomeUnknown(error) || wasRetried(error)) return this.#findOutcome(target, base, error);
        if (!isErrorResponse(error, 409, 422)) throw error;
        const current = await this.#snapshots.latest();
        if (isNotFastForward(error)) return undefined;
        // The reason is not recognised. The branch itself shows whether it moved.
        if (hasMoved(current, base)) return this.#outcomeAt(current, target, base, error);
        // The branch might have moved, but the replica that responded lags behind.
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
      pending.push(...(await this.#host.commit(next)).parents);
    }
    return 'no';
  }
}

function hasMoved(snapshot: Snapshot, base: string): snapshot is CommittedSnapshot {
  return snapshot.head !== undefined && snapshot.head !== base;
}

/** The message of a commit, and the lines that record its changes for Holdall. */
export interface CommitText {
  readonly message: string;
  readonly trailers: readonly string[];
}

/**
 * Adds trailers and a unique line to a message. Without that line, two services that make the same change in the same
 * second create the same commit, and both consider it theirs.
 */
function withTrailers(message: string, trailers: readonly string[]): string {
  return `${message}\n\n${[...trailers, formatId(randomBytes(8).toString('hex'))].join('\n')}`;
}

function unknownOutcome(cause: unknown): StoreError {
  const message = 'GitHub did not confirm the change. Check whether it was made before you send it again.';
  return new StoreError('outcome-unknown', message, { cause, retryAfter: SHORT_RETRY_AFTER_SECONDS });
}

/** A snapshot of a branch with at least one commit. */
export interface CommittedSnapshot extends Snapshot {
  readonly head: string;
}

/** Maximum reads of the branch while another client makes the first commit, and milliseconds between them. */
const MAX_ATTEMPTS = 10;
const RETRY_DELAY_MS = 100;

/**
 * Returns the latest snapshot. In an empty repository, creates a first commit with a marker in the served folder,
 * because GitHub accepts neither blobs nor trees before the first commit.
 */
export type EnsureFirstCommit = (options?: Cancellable) => Promise<CommittedSnapshot>;

export function createFirstCommit(
  host: Host,
  snapshots: Snapshots,
  { path = ROOT, commitMessage: template }: GitHubOptions,
): EnsureFirstCommit {
  return async ({ signal } = {}) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { head, root } = await snapshots.latest({ signal });
      if (head !== undefined) return { head, root };
      const isCreated = await host.createFirstFile(
        path + MARKER,
        commitMessage(template, ['Initialize the repository']),
      );
      if (!isCreated) await delay(RETRY_DELAY_MS * attempt, undefined, { signal });
    }
    throw new StoreError('store-busy', 'The repository is empty, and its first commit could not be created.', {
      retryAfter: SHORT_RETRY_AFTER_SECONDS,
    });
  };
}

/** Maximum changes that a commit message lists. */
const MAX_LISTED_CHANGES = 100;

/**
 * Returns a commit message: the title and, for several changes, a list of them. In the template, `{summary}` stands for
 * the change, or for the number of files and folders; `{count}` for the number of changes.
 */
export function commitMessage(template: string, changes: readonly string[]): string {
  const summaries = changes.map(withoutKeywords);
  const [first = ''] = summaries;
  const summary = summaries.length === 1 ? first : `Change ${summaries.length} files and folders`;
  const title = template.replace(/\{(summary|count)\}/g, (_, name) =>
    name === 'summary' ? summary : String(summaries.length),
  );
  if (summaries.length === 1) return title;
  const listed = summaries.slice(0, MAX_LISTED_CHANGES).map((text) => `- ${text}`);
  const more = summaries.length - listed.length;
  return [title, '', ...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

/**
 * Inserts zero-width spaces so that file names do not trigger actions of GitHub. `closes #1`, `GH-1`, `@team` and
 * `[skip ci]` close issues, mention users and skip workflows (docs.github.com, "Autolinked references", "Skipping
 * workflow runs"). Replaces C1 control characters, which terminals interpret.
 */
function withoutKeywords(summary: string): string {
  return summary.replace(/[\u0080-\u009f]/g, '\ufffd').replace(/[#@[]|\bGH-(?=\d)/gi, '$&\u200b');
}
