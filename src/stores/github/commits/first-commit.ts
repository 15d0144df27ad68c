import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { RETRY_SOON_SECONDS } from '../../network.ts';
import { MARKER } from '../branch/objects.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';

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
      retryAfter: RETRY_SOON_SECONDS,
    });
  };
}

/** The most changes that a message lists. */
const MOST_LISTED = 100;

/**
 * The message of a commit: the template's line and, where there are several changes, a list of them. In the template,
 * `{summary}` stands for the change, or how many there are, and `{count}` for their number.
 */
export function commitMessage(template: string, given: readonly string[]): string {
  const summaries = given.map(harmless);
  const [first = ''] = summaries;
  const summary = summaries.length === 1 ? first : `Change ${summaries.length} files and folders`;
  const title = template.replace(/\{(summary|count)\}/g, (_, name) =>
    name === 'summary' ? summary : String(summaries.length),
  );
  if (summaries.length === 1) return title;
  const listed = summaries.slice(0, MOST_LISTED).map((text) => `- ${text}`);
  const more = summaries.length - listed.length;
  return [title, '', ...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

/**
 * A summary in which no file name speaks to the host: `closes #1`, `GH-1`, `@team` and `[skip ci]` in a message close
 * issues, call people and stop workflows (docs.github.com, "Autolinked references", "Skipping workflow runs"). A space
 * without width keeps them apart, and is not seen. What terminals take for commands (C1 controls) is left out.
 */
function harmless(summary: string): string {
  return summary.replace(/[\u0080-\u009f]/g, '\ufffd').replace(/[#@[]|\bGH-(?=\d)/gi, '$&\u200b');
}
