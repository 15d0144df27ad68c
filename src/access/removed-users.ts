import { PollLoop, type PollLoopOptions } from '../concurrency/poll-loop.ts';
import type { Policy } from './policy.ts';

/** Milliseconds after which a new version of the access file is noticed at the latest if the database was unavailable. */
const POLL_MS = 5000;

interface RemovedUsersOptions {
  /** End what users created who are not in the access file of a policy. They can be called repeatedly. */
  readonly ends: readonly ((policy: Policy) => Promise<void>)[];
  /** The policy at the start. */
  readonly policy: Policy;
  readonly log: PollLoopOptions['log'];
}

/**
 * Ends what users created who are not in the access file, in the database, so that a later user of the same name has only their
 * own share links, app tokens, uploads and jobs. Each version of the access file counts, also if the database was unavailable meanwhile.
 */
export class RemovedUsers {
  readonly #options: RemovedUsersOptions;
  readonly #pending: Policy[];
  readonly #loop: PollLoop;

  constructor(options: RemovedUsersOptions) {
    this.#options = options;
    this.#pending = [options.policy];
    this.#loop = new PollLoop(() => this.#endAll(), {
      pollMs: POLL_MS,
      failureMessage: 'What removed users created could not be ended',
      log: options.log,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Adds a new version of the access file. */
  note(policy: Policy): void {
    this.#pending.push(policy);
    this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #endAll(): Promise<void> {
    for (let [policy] = this.#pending; policy; [policy] = this.#pending) {
      for (const end of this.#options.ends) await end(policy);
      this.#pending.shift();
    }
  }
}
