import { type Signal, signal } from '@preact/signals';
import type { Account } from '../../../web/src/model/account/account.ts';

interface AccountBehaviour {
  /** Counts the times that a user signed in. */
  readonly times: Signal<number>;
  /** Returns whether the user signs in. */
  requestAgain(): Promise<boolean>;
}

/** Returns the account of the user "ann", who can sign in with a password. */
export function testAccount({ times, requestAgain }: AccountBehaviour): Account {
  return {
    name: signal('ann'),
    lastName: signal('ann'),
    ways: { password: true, provider: false },
    isShutOut: false,
    canSignIn: true,
    times,
    isLeaving: signal(false),
    ask: requestAgain,
    askAgain: requestAgain,
    arrive() {},
    async signOut() {},
    leave() {},
  };
}
