import { isStoreError } from '../model/error.ts';

export interface PollLoopOptions {
  /** Milliseconds between two turns without a wake-up, ±25 %, so that processes that start together don't poll together. */
  readonly pollMs: number;
  /** Minimum milliseconds between two turns, so that many wake-ups in a short time cost little. Default: 0. */
  readonly minPauseMs?: number;
  /** The event to log when a turn fails. */
  readonly failureMessage: string;
  readonly log: { error(details: object, message: string): void };
}

/** Milliseconds of the pause after a failed turn, doubled for each further failure in a row. */
const MIN_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 30_000;

/**
 * Calls a function repeatedly, one turn at a time: after an interval, or earlier after a wake-up. A wake-up during a turn
 * leads to another turn, because the running one might miss what happened just before. Errors are logged, and the
 * loop continues after a back-off. The timers don't keep the process alive.
 */
export class PollLoop {
  readonly #turn: (signal: AbortSignal) => Promise<void>;
  readonly #options: PollLoopOptions;
  readonly #stopping = new AbortController();
  #isStarted = false;
  #running: Promise<void> | undefined;
  /** Whether a turn is running, or the pause after it has not ended. */
  #isBusy = false;
  /** Whether a wake-up came while the loop was busy. */
  #isWoken = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The signal that `turn` gets aborts when the loop is stopped. */
  constructor(turn: (signal: AbortSignal) => Promise<void>, options: PollLoopOptions) {
    this.#turn = turn;
    this.#options = options;
  }

  /** Starts the first turn. */
  start(): void {
    this.#isStarted = true;
    this.wake();
  }

  /** Starts a turn: now, or after the running one and its pause. Does nothing before `start` and after `stop`. */
  wake(): void {
    if (!this.#isStarted || this.#stopping.signal.aborted) return;
    if (this.#isBusy) this.#isWoken = true;
    else this.#run();
  }

  /** Starts no more turns. Resolves when the running one has ended. Can be called repeatedly. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #run(): void {
    clearTimeout(this.#timer);
    this.#isBusy = true;
    this.#isWoken = false;
    this.#running = this.#runTurn();
  }

  async #runTurn(): Promise<void> {
    this.#pause(await this.#attempt());
  }

  /** Runs one turn. Returns the milliseconds of the pause after it. Never rejects. */
  async #attempt(): Promise<number> {
    const { minPauseMs = 0, failureMessage, log } = this.#options;
    try {
      await this.#turn(this.#stopping.signal);
      this.#failures = 0;
      return minPauseMs;
    } catch (error) {
      // An unavailable database is logged where its state changes.
      if (!isStoreError(error, 'unavailable')) log.error({ err: error }, failureMessage);
      const backoffMs = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** this.#failures);
      this.#failures += 1;
      return Math.max(minPauseMs, backoffMs);
    }
  }

  #pause(pauseMs: number): void {
    if (this.#stopping.signal.aborted) return;
    if (pauseMs === 0) this.#awaitWakeUp(0);
    else this.#timer = setTimeout(() => this.#awaitWakeUp(pauseMs), pauseMs).unref();
  }

  /** Starts the next turn: now after a wake-up, otherwise after the interval, of which `elapsedMs` have passed. */
  #awaitWakeUp(elapsedMs: number): void {
    if (this.#isWoken) return this.#run();
    this.#isBusy = false;
    const intervalMs = this.#options.pollMs * (0.75 + Math.random() / 2);
    this.#timer = setTimeout(() => this.#run(), Math.max(0, intervalMs - elapsedMs)).unref();
  }
}
