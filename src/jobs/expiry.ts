import { Type } from 'typebox';
import type { Expired } from '../files/expiry.ts';
import type { Cancellable, Reporting } from '../model/store.ts';
import { defineKind, type JobKind } from './job.ts';

/** Milliseconds between two removals of what has expired. */
const INTERVAL_MS = 60 * 60_000;

/** Returns the kind that removes expired items of the trash and expired versions. `expire` is idempotent. */
export function createExpiryKind(expire: (options: Reporting & Cancellable) => Promise<Expired>): JobKind {
  return defineKind({
    name: 'expire-trash',
    input: Type.Object({}),
    intervalMs: INTERVAL_MS,
    run: (_, { signal, onProgress }) => expire({ signal, onProgress }),
  });
}
