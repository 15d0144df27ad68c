import { setTimeout as delay } from 'node:timers/promises';
import { quoted, StoreError } from '../../domain/error.ts';
import { SOON } from '../network.ts';
import { type Change, keepRoot } from './changes.ts';
import { commitMessage } from './commit-message.ts';
import { createDraft, type Draft, type Drafted, NeedsOwnCommit } from './draft.ts';
import type { Begin, BegunSnapshot } from './first-commit.ts';
import type { Host, TreeEdit } from './host.ts';
import type { GitHubOptions } from './settings.ts';
import type { Snapshot, Snapshots } from './snapshots.ts';
import { isOutrun, isRefusal, isRefusedTree, isTooLarge, isUncertain, type Refusal, wasRepeated } from './translate.ts';
import type { Trees } from './trees.ts';
import { createBlob } from './upload.ts';

/** Changes on their way to the branch. Those that come while a commit is made go out together in the next one. */
export interface CommitQueue {
  /**
   * Settles when the change is on the branch, or can't be made. Aborted while it waits, it is not made; once it is part
   * of a commit, it is.
   */
  run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result>;
  /** Settles when no commit is under way; what waits is made first. */
  close(): Promise<void>;
}

/** Milliseconds for which the first change waits for others: few beside the three requests of a commit. */
const GATHER = 50;

/** The most changes in one commit, and bytes of text in them: the host gives up over what takes it long. */
const MOST_CHANGES = 500;
const MOST_TEXT = 4 * 1024 * 1024;

/** How often a commit is made anew because others moved the branch meanwhile. */
const ATTEMPTS = 12;

/** The most commits of others that are looked through for one whose fate is not known. */
const MOST_LOOKED_THROUGH = 100;

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
  const waiting: Waiting[] = [];
  let working: Promise<void> | undefined;

  const work = async () => {
    if (gatherFor > 0) await delay(gatherFor);
    while (waiting.length > 0) await bring(takeBatch(waiting));
    // In the same moment as the look at what waits: a change that comes now finds nobody at work.
    working = undefined;
  };

  /** Brings changes onto the branch, however often that moves meanwhile, and settles them all. */
  const bring = async (batch: readonly Waiting[]): Promise<void> => {
    let left = batch;
    try {
      for (let attempt = 1; left.length > 0 && attempt <= ATTEMPTS; ) {
        const { again, hasMoved } = await attemptCommit(left);
        left = again;
        if (!hasMoved) continue;
        attempt++;
        // At once the first time; then at different times, for those who lost to each other.
        if (attempt > 2) await delay(Math.random() * 100 * attempt);
      }
      for (const { reject } of left) reject(tooBusy(branch));
    } catch (error) {
      if (isRefusedTree(error) && left.length > 1) return halve(left);
      const reason = isRefusal(error, 422) && !isTooLarge(error) ? notTaken(error) : host.translate(error, 'writes');
      for (const { reject } of left) reject(reason);
    }
  };

  /** One of the changes is one that the host does not take: it must not fail those beside it. */
  const halve = async (batch: readonly Waiting[]): Promise<void> => {
    const middle = batch.length >>> 1;
    await bring(batch.slice(0, middle));
    await bring(batch.slice(middle));
  };

  /** Makes one commit of as many changes as can be in it. */
  const attemptCommit = async (batch: readonly Waiting[]): Promise<Attempt> => {
    for (const item of batch) takeBack(item);
    const before = await snapshots.latest();
    const base = await trees.read(before.root);
    const wanted = batch.filter(({ signal }) => !signal?.aborted);
    for (const item of wanted) item.isUnderWay = true;
    const draft = createDraft(trees, base);
    const { made, settle, deferred } = await applyAll(draft, wanted);
    for (const item of deferred) takeBack(item);
    if (made.length > 0) await keepRoot(draft);
    const drafted = draft.finish();
    if (drafted.edits.length > 0) {
      const message = commitMessage(
        template,
        made.map(({ change }) => change.summary),
      );
      const after = await push(before, drafted, message);
      if (!after) return { again: wanted, hasMoved: true };
      snapshots.moved(before, after);
      log.info('Committed.', { branch, commit: after.head, changes: made.length, quota: host.quota.current() });
    }
    for (const end of settle) end();
    return { again: deferred, hasMoved: false };
  };

  /** Makes the commit. Undefined where the branch has another head by now. */
  const push = async (
    { head: base, root: baseTree }: Snapshot,
    { edits, root, trees: made }: Drafted,
    message: string,
  ): Promise<Snapshot | undefined> => {
    if (base === undefined) {
      await begin();
      return undefined;
    }
    const tree = await makeTree(baseTree, edits, root);
    const commit = await host.createCommit({ message, tree, parents: [base] });
    const after = await moveOn({ head: commit, root: tree }, base);
    if (after) for (const each of made) trees.keep(each);
    return after;
  };

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

  return {
    async run<Result>(change: Change<Result>, signal?: AbortSignal): Promise<Result> {
      signal?.throwIfAborted();
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

    close: async () => working,
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
  return new StoreError('unavailable', message, { retryAfter: SOON });
}

function notTaken(cause: Refusal): StoreError {
  const message = `The host of the repository does not take this, with these words: ${quoted(cause.message)}.`;
  return new StoreError('invalid-request', message, { cause });
}
