import type { Lock } from '../../src/dav/lock.ts';

/** Returns a lock of the user `ann`, with the given values. */
export function sampleLock(values: Pick<Lock, 'path'> & Partial<Lock>): Lock {
  return {
    token: 'c0ffee00-0000-4000-8000-000000000000',
    id: 'id',
    scope: 'exclusive',
    isDeep: false,
    owner: undefined,
    user: 'ann',
    appToken: undefined,
    timeoutSeconds: 600,
    createdAt: new Date(),
    expiresAt: new Date(),
    remainingSeconds: 600,
    ...values,
  };
}
