import { createSingleFlight, untilAborted } from '../../../concurrency/single-flight.ts';
import { quoted, StoreError } from '../../../model/error.ts';
import { type FilePath, type FolderPath, rebase } from '../../../model/path.ts';
import type { Cancellable } from '../../../model/store.ts';
import { RETRY_LATER_SECONDS } from '../../network.ts';
import { isEmptyRepository, isErrorResponse } from '../host/errors.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { EMPTY_TREE, isFile, isFolder, MARKER, type Tree } from './objects.ts';
import type { Trees } from './trees.ts';

/** The branch at one moment. Immutable. */
export interface Snapshot {
  /** SHA of the head; undefined in a repository without commits. */
  readonly head: string | undefined;
  /** SHA of the root tree. */
  readonly root: string;
}

export interface Snapshots {
  /** Returns a snapshot that is at most `trust` seconds old. */
  current(options?: Cancellable): Promise<Snapshot>;
  /** Returns a snapshot that is not older than the call. */
  latest(options?: Cancellable): Promise<Snapshot>;
  /** Records that a commit of this process moved the branch. */
  moved(from: Snapshot, to: Snapshot): void;
}

/** Milliseconds for which GitHub may still return a replaced head, because its replicas lag behind. */
const LAG = 5_000;

export function createSnapshots(host: Host, trees: Trees, options: GitHubOptions): Snapshots {
  const { branch, createBranch, readOnly, trust } = options;
  const flights = createSingleFlight<void>();
  /** Heads that this process replaced, and their predecessors, with the time of the replacement. */
  const replaced = new Map<string, number>();
  /** Heads that other clients replaced, with the time when the new head was read. */
  const former = new Map<string, number>();
  let known: { snapshot: Snapshot; etag: string | undefined; seen: number } | undefined;

  const isReplaced = (head: string) => performance.now() - (replaced.get(head) ?? Number.NEGATIVE_INFINITY) < LAG;

  /** Once a repository was too large for one response, its folders are read individually on demand. */
  let fitsOneAnswer = true;
  /** The request in progress. Never rejects. */
  let looking: Promise<void> | undefined;

  const look = (signal: AbortSignal): Promise<void> => {
    const answered = lookNow(signal);
    const ended = answered.then(ignore, ignore).finally(() => {
      if (looking === ended) looking = undefined;
    });
    looking = ended;
    return answered;
  };

  const lookNow = async (signal: AbortSignal): Promise<void> => {
    const before = known;
    const seen = performance.now();
    const told = await askForBranch(before?.etag, signal);
    // A commit of this process finished before this response arrived.
    if (known !== before) return;
    if (before && (told === 'same' || (told.head !== undefined && isReplaced(told.head)))) {
      known = { ...before, seen };
      return;
    }
    requireTold(told);
    if (fitsOneAnswer) fitsOneAnswer = await trees.readAll(told.root, { signal });
    if (known !== before) return;
    const head = before?.snapshot.head;
    forgetOld(former, seen);
    if (head !== undefined && head !== told.head) former.set(head, seen);
    known = { snapshot: { head: told.head, root: told.root }, etag: told.etag, seen };
  };

  const askForBranch = async (etag: string | undefined, signal: AbortSignal) => {
    try {
      return await host.branch(branch, etag, { signal });
    } catch (error) {
      if (!isErrorResponse(error, 404)) throw error;
      return withoutBranch(error, signal);
    }
  };

  /** Handles a missing branch: an empty repository, a wrong branch name, or a missing repository. */
  const withoutBranch = async (cause: unknown, signal: AbortSignal) => {
    const { defaultBranch } = await host.describe({ signal });
    const hasCommits = await host.reference(defaultBranch, { signal }).then(
      () => true,
      (error: unknown) => {
        if (isEmptyRepository(error)) return false;
        if (isErrorResponse(error, 404)) return true;
        throw host.translate(error, 'reads');
      },
    );
    const isDefault = branch === defaultBranch;
    if (!hasCommits && (createBranch || isDefault)) return { head: undefined, root: EMPTY_TREE.sha, etag: undefined };
    const explain = (error: unknown) => {
      throw isErrorResponse(error, 404)
        ? noBranch(`${host.repository()} has no branch ${quoted(branch)}`, { defaultBranch, readOnly, cause })
        : error;
    };
    if (createBranch && !isDefault) return beginBranch(defaultBranch, signal).catch(explain);
    return stateOf(branch, signal).catch(explain);
  };

  const beginBranch = async (from: string, signal: AbortSignal) => {
    const state = await stateOf(from, signal);
    try {
      await host.createReference(branch, state.head, { signal });
    } catch (error) {
      // Another client, such as another process of this service, may have created the branch first.
      return await stateOf(branch, signal).catch(() => {
        throw error;
      });
    }
    options.log.info('The branch was made.', { branch, from, commit: state.head });
    return { ...state, etag: undefined };
  };

  /** Returns the state of a branch that may have been created meanwhile. */
  const stateOf = async (name: string, signal: AbortSignal) => {
    const state = await host.branch(name, undefined, { signal });
    requireTold(state);
    return state;
  };

  const see = async ({ signal }: Cancellable): Promise<Snapshot> => {
    for (;;) {
      await flights.run('branch', look, signal);
      // `moved` may have discarded the result.
      if (known) return known.snapshot;
    }
  };

  const latest: Snapshots['latest'] = async ({ signal } = {}) => {
    // A request in progress may have been answered before this call. Wait for it, then send one new request for all
    // callers.
    if (looking) await untilAborted(looking, signal);
    return see({ signal });
  };

  return {
    latest,

    async current(asked = {}) {
      const age = performance.now() - (known?.seen ?? Number.NEGATIVE_INFINITY);
      if (known && age < trust * 1000) return known.snapshot;
      return trust === 0 ? latest(asked) : see(asked);
    },

    moved(from, to) {
      const now = performance.now();
      forgetOld(replaced, now);
      forgetOld(former, now);
      for (const head of former.keys()) replaced.set(head, now);
      former.clear();
      if (from.head !== undefined) replaced.set(from.head, now);
      // Another client moved the branch meanwhile and a read saw it. Which of the two heads is newer is unknown.
      const isOutdated = known !== undefined && known.snapshot.head !== from.head && known.snapshot.head !== to.head;
      known = isOutdated ? undefined : { snapshot: to, etag: undefined, seen: now };
    },
  };
}

const ignore = () => {};

/** Throws if GitHub responds "not modified" to a request without an ETag. */
function requireTold<State>(told: State | 'same'): asserts told is State {
  if (told === 'same') throw new Error('The host says that nothing changed, and was not told since when.');
}

function forgetOld(heads: Map<string, number>, now: number): void {
  for (const [head, time] of heads) if (now - time > LAG) heads.delete(head);
}

function noBranch(
  what: string,
  { defaultBranch, readOnly, cause }: { defaultBranch: string; readOnly: boolean; cause: unknown },
): StoreError {
  const hint = readOnly
    ? 'with READ_ONLY=true, none is made.'
    : 'GITHUB_CREATE_BRANCH=true makes the other one from it.';
  const message = `The repository ${what} (GITHUB_BRANCH). Its default branch is ${quoted(defaultBranch)}; ${hint}`;
  return new StoreError('unavailable', message, { cause, retryAfter: RETRY_LATER_SECONDS });
}

/** Totals of a folder and everything below it. */
export interface Measure {
  readonly files: number;
  /** Total bytes of the files. */
  readonly bytes: number;
  /** The longest path below the folder, by bytes; empty for an empty folder. */
  readonly longest: string;
}

const EMPTY: Measure = { files: 0, bytes: 0, longest: '' };

/**
 * Measures a tree and caches the result, because trees are immutable. Returns undefined if GitHub can't list the tree
 * in one response, unless `atAnyCost` is set: then its folders are read individually.
 */
export type Measuring = (sha: string, options: { atAnyCost: boolean } & Cancellable) => Promise<Measure | undefined>;

export function createMeasuring(trees: Trees): Measuring {
  const known = new WeakMap<Tree, Measure>();

  const measure = async (tree: Tree, options: Cancellable): Promise<Measure> => {
    const found = known.get(tree);
    if (found) return found;
    let sum = EMPTY;
    for (const [name, entry] of tree.entries) {
      const below = isFolder(entry) ? await measure(await trees.read(entry.sha, options), options) : EMPTY;
      const path = isFolder(entry) ? `${name}/${below.longest}` : name;
      const isCounted = isFile(entry) && name !== MARKER;
      sum = {
        files: sum.files + below.files + (isCounted ? 1 : 0),
        bytes: sum.bytes + below.bytes + (isCounted ? entry.size : 0),
        longest: Buffer.byteLength(path) > Buffer.byteLength(sum.longest) ? path : sum.longest,
      };
    }
    known.set(tree, sum);
    return sum;
  };

  return async (sha, { atAnyCost, ...options }) => {
    const isTold = await trees.readAll(sha, options);
    return isTold || atAnyCost ? measure(await trees.read(sha, options), options) : undefined;
  };
}

/** Throws `invalid-path` if a path below `from` would be too long below `to`. */
export function requireLengths({ longest }: Measure, from: FolderPath, to: FolderPath): void {
  rebase((from + longest) as FilePath, from, to);
}
