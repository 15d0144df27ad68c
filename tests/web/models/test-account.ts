import { type Signal, signal } from '@preact/signals';
import type { Account } from '../../../web/src/model/account/account.ts';

interface AccountBehaviour {
  readonly signInCount: Signal<number>;
  /** Returns whether the user signs in. */
  reauthenticate(): Promise<boolean>;
  expire?(): void;
}

/** Returns the account of the user "ann", who can sign in with a password. */
export function testAccount({ signInCount, reauthenticate, expire = () => {} }: AccountBehaviour): Account {
  return {
    username: signal('ann'),
    lastUsername: signal('ann'),
    signInMethods: { password: true, provider: false },
    canSignIn: true,
    isSignInPage: false,
    signInCount,
    isReloading: signal(false),
    requestSignIn: reauthenticate,
    reauthenticate,
    expire,
    setUser() {},
    async signOut() {},
    async check() {
      return false;
    },
    reload() {},
  };
}
