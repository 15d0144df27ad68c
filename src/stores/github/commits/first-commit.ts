import { setTimeout as delay } from 'node:timers/promises';
import { StoreError } from '../../../model/error.ts';
import type { Cancellable } from '../../../model/store.ts';
import { RETRY_SOON_SECONDS } from '../../network.ts';
import { MARKER } from '../branch/objects.ts';
import type { Snapshot, Snapshots } from '../branch/snapshots.ts';
import type { Host } from '../host/host.ts';
import type { GitHubOptions } from '../settings.ts';

/** A snapshot of a branch with at least one commit. */
export interface CommittedSnapshot extends Snapshot {
  readonly head: string;
}

/** Maximum reads of the branch while another client makes the first commit, and milliseconds between them. */
const MAX_ATTEMPTS = 10;
const RETRY_DELAY_MS = 100;

/**
 * Returns the latest snapshot. In an empty repository, creates a first commit with a marker in the root, because GitHub
 * accepts neither blobs nor trees before the first commit.
 */
export type EnsureFirstCommit = (options?: Cancellable) => Promise<CommittedSnapshot>;

export function createFirstCommit(
  host: Host,
  snapshots: Snapshots,
  { commitMessage: template }: GitHubOptions,
): EnsureFirstCommit {
  return async ({ signal } = {}) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { head, root } = await snapshots.latest({ signal });
      if (head !== undefined) return { head, root };
      const isCreated = await host.createFirstFile(MARKER, commitMessage(template, ['Begin the repository']));
      if (!isCreated) await delay(RETRY_DELAY_MS * attempt, undefined, { signal });
    }
    throw new StoreError('store-busy', 'The repository is empty, and its first commit could not be created.', {
      retryAfter: RETRY_SOON_SECONDS,
    });
  };
}

/** Maximum changes that a commit message lists. */
const MAX_LISTED_CHANGES = 100;

/**
 * Returns a commit message: the title and, for several changes, a list of them. In the template, `{summary}` stands for
 * the change, or for the number of files and folders; `{count}` for the number of changes.
 */
export function commitMessage(template: string, changes: readonly string[]): string {
  const summaries = changes.map(withoutKeywords);
  const [first = ''] = summaries;
  const summary = summaries.length === 1 ? first : `Change ${summaries.length} files and folders`;
  const title = template.replace(/\{(summary|count)\}/g, (_, name) =>
    name === 'summary' ? summary : String(summaries.length),
  );
  if (summaries.length === 1) return title;
  const listed = summaries.slice(0, MAX_LISTED_CHANGES).map((text) => `- ${text}`);
  const more = summaries.length - listed.length;
  return [title, '', ...listed, ...(more > 0 ? [`- and ${more} more`] : [])].join('\n');
}

/**
 * Inserts zero-width spaces so that file names do not trigger actions of GitHub. `closes #1`, `GH-1`, `@team` and
 * `[skip ci]` close issues, mention users and skip workflows (docs.github.com, "Autolinked references", "Skipping
 * workflow runs"). Replaces C1 control characters, which terminals interpret.
 */
function withoutKeywords(summary: string): string {
  return summary.replace(/[\u0080-\u009f]/g, '\ufffd').replace(/[#@[]|\bGH-(?=\d)/gi, '$&\u200b');
}
