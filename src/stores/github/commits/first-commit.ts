import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../domain/error.ts';
import type { Cancellable } from '../../../domain/store.ts';
import { SOON } from '../../network.ts';
import { MARKER } from '../branch/markers.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';
import { commitMessage } from './commit-message.ts';

/** A branch that has a commit. */
export interface BegunSnapshot extends Snapshot {
  readonly head: string;
}

/** How often the branch is looked at while somebody else makes the first commit. */
const ATTEMPTS = 10;

/**
 * The branch as it is now, with a first commit if it had none: a marker in its root. Before that, the host takes
 * neither blobs nor trees.
 */
export type Begin = (options?: Cancellable) => Promise<BegunSnapshot>;

export function createBegin(host: Host, snapshots: Snapshots, { commitMessage: template }: GitHubOptions): Begin {
  return async ({ signal } = {}) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { head, root } = await snapshots.latest({ signal });
      if (head !== undefined) return { head, root };
      const isMade = await host.createFirstFile(MARKER, commitMessage(template, ['Begin the repository']));
      if (!isMade) await delay(100 * attempt, undefined, { signal });
    }
    throw new StoreError('unavailable', 'The repository is empty, and its first commit could not be made.', {
      retryAfter: SOON,
    });
  };
}
