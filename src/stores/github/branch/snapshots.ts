import { createSingleFlight, untilAborted } from '../../../concurrency/single-flight.ts';
import { quoted, StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { LONG_RETRY_AFTER_SECONDS } from '../../network.ts';
import { isEmptyRepository, isErrorResponse } from '../host/errors.ts';
import type { BranchState, Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { EMPTY_TREE } from './objects.ts';
import type { ServedFolder } from './served-folder.ts';
import type { Trees } from './trees.ts';

/** The branch at one moment. Immutable. */
export interface Snapshot {
  /** SHA of the head; undefined in a repository without commits. */
  readonly head: string | undefined;
  /** SHA of the root tree. */
  readonly root: string;
}

/** Milliseconds for which GitHub might still return a replaced head, because its replicas lag behind. */
const REPLICA_LAG_MS = 5_000;

/** The last known state of the branch. */
interface KnownState {
  readonly snapshot: Snapshot;
  readonly etag: string | undefined;
  /** Time of the request, in milliseconds of `performance.now`. */
  readonly time: number;
}

/** Reads the branch, and remembers its last state. Concurrent callers share one request. */
export class Snapshots {
  readonly #host: Host;
  readonly #trees: Trees;
  readonly #served: ServedFolder;
  readonly #options: GitHubOptions;
  readonly #flights = createSingleFlight<void>();
  readonly #oldHeads = new OldHeads();
  #known: KnownState | undefined;
  /** Once the served folder was too large for one response, its folders are read individually on demand. */
  #fitsOneResponse = true;
  /** The request in progress. Never rejects. */
  #reading: Promise<void> | undefined;

  constructor(host: Host, trees: Trees, served: ServedFolder, options: GitHubOptions) {
    this.#host = host;
    this.#trees = trees;
    this.#served = served;
    this.#options = options;
  }

  /** Returns a snapshot that is at most `trust` seconds old. */
  async current(options: Cancellable = {}): Promise<Snapshot> {
    const { trust } = this.#options;
    const known = this.#known;
    if (known && performance.now() - known.time < trust * 1000) return known.snapshot;
    return trust === 0 ? this.latest(options) : this.#readShared(options);
  }

  /** Returns a snapshot that is not older than the call. */
  async latest({ signal }: Cancellable = {}): Promise<Snapshot> {
    // The response to a request in progress might be older than this call. Wait for it, then send one new request for all
    // callers.
    if (this.#reading) await untilAborted(this.#reading, signal);
    return this.#readShared({ signal });
  }

  /** Records that a commit of this process moved the branch. */
  moved(from: Snapshot, to: Snapshot): void {
    const now = performance.now();
    this.#oldHeads.addReplacedByUs(from.head, now);
    // Another client moved the branch meanwhile and a read saw it. Which of the two heads is newer is unknown.
    const head = this.#known?.snapshot.head;
    const isOutdated = this.#known !== undefined && head !== from.head && head !== to.head;
    this.#known = isOutdated ? undefined : { snapshot: to, etag: undefined, time: now };
  }

  async #readShared({ signal }: Cancellable): Promise<Snapshot> {
    for (;;) {
      await this.#flights.run('branch', (cancelled) => this.#trackedRead(cancelled), signal);
      // `moved` might have discarded the result.
      if (this.#known) return this.#known.snapshot;
    }
  }

  #trackedRead(signal: AbortSignal): Promise<void> {
    const result = this.#read(signal);
    const ended = result.then(ignore, ignore).finally(() => {
      if (this.#reading === ended) this.#reading = undefined;
    });
    this.#reading = ended;
    return result;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const before = this.#known;
    const time = performance.now();
    const state = await this.#readBranch(before?.etag, signal);
    // A commit of this process finished before this response arrived.
    if (this.#known !== before) return;
    if (before && (state === 'same' || (state.head !== undefined && this.#oldHeads.wasReplacedByUs(state.head)))) {
      this.#known = { ...before, time };
      return;
    }
    requireState(state);
    const served = await this.#served.shaIn(state.root, { signal });
    if (this.#fitsOneResponse) this.#fitsOneResponse = await this.#trees.readAll(served, { signal });
    if (this.#known !== before) return;
    const head = before?.snapshot.head;
    if (head !== state.head) this.#oldHeads.addReplacedByOthers(head, time);
    this.#known = { snapshot: { head: state.head, root: state.root }, etag: state.etag, time };
  }

  async #readBranch(etag: string | undefined, signal: AbortSignal): Promise<MaybeEmptyState | 'same'> {
    try {
      return await this.#host.branch(this.#options.branch, etag, { signal });
    } catch (error) {
      if (!isErrorResponse(error, 404)) throw error;
      return resolveMissingBranch(this.#host, this.#options, error, signal);
    }
  }
}

/** Heads that are no longer current, although replicas of GitHub might still return them for a short time. */
class OldHeads {
  /** Heads that this process replaced, and their predecessors, with the time of the replacement. */
  readonly #replacedByUs = new Map<string, number>();
  /** Heads that other clients replaced, with the time when the new head was read. */
  readonly #replacedByOthers = new Map<string, number>();

  wasReplacedByUs(head: string): boolean {
    const time = this.#replacedByUs.get(head);
    return time !== undefined && performance.now() - time < REPLICA_LAG_MS;
  }

  /** Another client can also move the branch back to `head`, so this does not exclude it yet. */
  addReplacedByOthers(head: string | undefined, now: number): void {
    removeExpired(this.#replacedByOthers, now);
    if (head !== undefined) this.#replacedByOthers.set(head, now);
  }

  addReplacedByUs(head: string | undefined, now: number): void {
    removeExpired(this.#replacedByUs, now);
    removeExpired(this.#replacedByOthers, now);
    for (const earlier of this.#replacedByOthers.keys()) this.#replacedByUs.set(earlier, now);
    this.#replacedByOthers.clear();
    if (head !== undefined) this.#replacedByUs.set(head, now);
  }
}

function removeExpired(heads: Map<string, number>, now: number): void {
  for (const [head, time] of heads) if (now - time > REPLICA_LAG_MS) heads.delete(head);
}

const ignore = () => {};

/** The state of a branch; without `head` in an empty repository. */
type MaybeEmptyState = Omit<BranchState, 'head'> & Snapshot;

/** Throws if GitHub responds "not modified" to a request without an ETag. */
function requireState<State>(state: State | 'same'): asserts state is State {
  if (state === 'same') throw new Error('GitHub returned 304 to a request without an ETag.');
}

/**
 * Handles a missing branch: returns the empty state of an empty repository, or creates the branch if the settings
 * require it. Throws `unavailable` if the branch or the repository does not exist.
 */
async function resolveMissingBranch(
  host: Host,
  options: GitHubOptions,
  cause: unknown,
  signal: AbortSignal,
): Promise<MaybeEmptyState> {
  const { branch, createBranch, readOnly } = options;
  const { defaultBranch } = await host.describe({ signal });
  const isDefault = branch === defaultBranch;
  const isEmpty = !(await hasCommits(host, defaultBranch, signal));
  if (isEmpty && (createBranch || isDefault)) return { head: undefined, root: EMPTY_TREE.sha, etag: undefined };
  try {
    if (createBranch && !isDefault) return await createFrom(host, defaultBranch, options, signal);
    return await readState(host, branch, signal);
  } catch (error) {
    if (!isErrorResponse(error, 404)) throw error;
    throw noBranch(`${host.repository()} has no branch ${quoted(branch)}`, { defaultBranch, readOnly, cause });
  }
}

async function hasCommits(host: Host, defaultBranch: string, signal: AbortSignal): Promise<boolean> {
  try {
    await host.reference(defaultBranch, { signal });
    return true;
  } catch (error) {
    if (isEmptyRepository(error)) return false;
    if (isErrorResponse(error, 404)) return true;
    throw host.translate(error, 'reads');
  }
}

/** Creates the branch from another one. Returns its state. */
async function createFrom(
  host: Host,
  from: string,
  { branch, log }: GitHubOptions,
  signal: AbortSignal,
): Promise<BranchState> {
  const state = await readState(host, from, signal);
  try {
    await host.createReference(branch, state.head, { signal });
  } catch (error) {
    // Another client, such as another process of this service, might have created the branch first.
    return await readState(host, branch, signal).catch(() => {
      throw error;
    });
  }
  log.info('Branch created.', { branch, from, commit: state.head });
  return { ...state, etag: undefined };
}

/** Returns the state of a branch that might have been created meanwhile. */
async function readState(host: Host, name: string, signal: AbortSignal): Promise<BranchState> {
  const state = await host.branch(name, undefined, { signal });
  requireState(state);
  return state;
}

function noBranch(
  what: string,
  { defaultBranch, readOnly, cause }: { defaultBranch: string; readOnly: boolean; cause: unknown },
): StoreError {
  const hint = readOnly
    ? 'with READ_ONLY=true, the branch is not created.'
    : 'set GITHUB_CREATE_BRANCH=true to create the branch from it.';
  const message = `The repository ${what} (GITHUB_BRANCH). Its default branch is ${quoted(defaultBranch)}; ${hint}`;
  return new StoreError('branch-not-found', message, { cause, retryAfter: LONG_RETRY_AFTER_SECONDS });
}
