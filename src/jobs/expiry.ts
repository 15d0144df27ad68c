import { Type } from 'typebox';
import type { Expired } from '../files/expiry.ts';
import type { Cancellable, Reporting } from '../model/store.ts';
import type { ExpiryClock } from './expiry-clock.ts';
import { defineKind, type JobKind } from './job.ts';

/** Milliseconds between two removals of what has expired. */
const INTERVAL_MS = 60 * 60_000;

const NAME = 'expire-trash';

/**
 * Returns the kind that removes expired items of the trash and expired versions, as of the time of the clock. `expire` is
 * idempotent.
 */
export function createExpiryKind(
  expire: (options: Reporting & Cancellable, now: Date) => Promise<Expired>,
  clock: Pick<ExpiryClock, 'advance'>,
): JobKind {
  return defineKind({
    name: NAME,
    input: Type.Object({}),
    intervalMs: INTERVAL_MS,
    async run(_, { signal, onProgress }) {
      const now = await clock.advance(NAME);
      return now ? expire({ signal, onProgress }, now) : { trashed: 0, versions: 0 };
    },
  });
}
