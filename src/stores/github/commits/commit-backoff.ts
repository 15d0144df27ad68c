import { setTimeout as delay } from 'node:timers/promises';

/**
 * Factor by which the estimate of other processes decays with each commit, and the value below which it counts as 0.
 */
const OTHERS_DECAY = 7 / 8;
const MIN_OTHERS = 1 / 2;

/** Maximum estimate of other processes. Consecutive conflicts can all be caused by a single process that never pauses. */
const MAX_OTHERS = 4;

/** Milliseconds for which a push of another process counts as current activity. */
const RECENT_PUSH_MS = 60_000;

/**
 * Maximum commits without a pause while no other process is seen, because a process that always loses is never seen.
 */
const MAX_CONSECUTIVE_COMMITS = 6;

/** Maximum pause. A commit that was slow because of retries says nothing about the next one. */
const MAX_PAUSE_MS = 10_000;

/**
 * Back-off between commits when other processes commit to the same branch. The first to move the branch wins; the
 * others must start again. Without pauses, the same process would always win: it starts its next commit before the
 * others learn that they lost.
 */
export class CommitBackoff {
  readonly #closing = new AbortController();
  /** Head and time of the last successful commit. */
  #last: { head: string; time: number } | undefined;
  /** Consecutive commits without an idle period as long as a commit. */
  #consecutiveCommits = 0;
  #consecutiveConflicts = 0;
  /** Estimated number of other processes that commit to the branch. */
  #others = 0;
  /** When the next commit can start, in milliseconds of `performance.now`. */
  #pausedUntil = 0;

  /** Resolves when the next commit can start. */
  async wait(): Promise<void> {
    const { signal } = this.#closing;
    // Timers can fire a fraction of a millisecond early.
    for (;;) {
      const pauseMs = this.#pausedUntil - performance.now();
      if (pauseMs <= 0 || signal.aborted) return;
      await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  /**
   * Records that a commit started at `startedAt` (`performance.now()`) on `base` succeeded; `head` is now the head of
   * the branch.
   */
  recordSuccess(base: string, head: string, startedAt: number): void {
    const time = performance.now();
    const durationMs = time - startedAt;
    this.#others = this.#estimateOthers(base, startedAt);
    const wasIdle = this.#last === undefined || startedAt - this.#last.time > durationMs;
    this.#consecutiveCommits = wasIdle ? 1 : this.#consecutiveCommits + 1;
    this.#consecutiveConflicts = 0;
    this.#last = { head, time };
    // Another process needs slightly longer, because it must first read the changes. The random factor keeps several
    // paused processes from resuming at the same time.
    if (this.#others > 0 || this.#consecutiveCommits >= MAX_CONSECUTIVE_COMMITS) {
      this.#pause(durationMs * Math.max(1, this.#others) * (1 + Math.random()));
    }
  }

  /** Records that a commit started at `startedAt` failed because another process moved the branch first. */
  recordConflict(startedAt: number): void {
    this.#consecutiveConflicts++;
    // Retries at once after the first conflict, while the winner pauses. After that, waits a random time, so that
    // several losers do not collide again.
    if (this.#consecutiveConflicts > 1) this.#pause((performance.now() - startedAt) * Math.random());
  }

  /** Ends all waits, now and later. */
  close(): void {
    this.#closing.abort();
  }

  #pause(milliseconds: number): void {
    this.#pausedUntil = performance.now() + Math.min(milliseconds, MAX_PAUSE_MS);
    this.#consecutiveCommits = 0;
  }

  #estimateOthers(base: string, startedAt: number): number {
    const last = this.#last;
    const wasMoved = last !== undefined && last.head !== base && startedAt - last.time < RECENT_PUSH_MS;
    const decayed = this.#others * OTHERS_DECAY;
    const conflicts = Math.min(this.#consecutiveConflicts, MAX_OTHERS);
    return Math.max(conflicts, wasMoved ? 1 : 0, decayed < MIN_OTHERS ? 0 : decayed);
  }
}
