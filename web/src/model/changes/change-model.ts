import { effect, type Signal, untracked } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import { pauseWhileVisible } from '../../platform/pause.ts';
import { withFileOperations } from '../../platform/service/file-operations.ts';
import { SESSION_JOBS } from '../../platform/service/job-memory.ts';
import { createJobs, type Jobs } from '../../platform/service/jobs.ts';
import type { Entry, Service } from '../../platform/service/service.ts';
import type { Account } from '../account/account.ts';
import { PAGE_LOCKS } from '../path-locks.ts';
import type { Prompts } from '../prompts.ts';
import { type ChangeContext, type ChangesOptions, createChangeContext, type SharedState } from './change-context.ts';
import { createFolder, createNamedFolder } from './create-folder.ts';
import { moveEntriesToTrash, removeEntries } from './remove.ts';
import { type Draft, renameEntry } from './rename.ts';
import { transfer, transferElsewhere } from './transfer.ts';
import { RetryableTransfers, type TransferKind } from './transfer-requests.ts';
import { offerUndo, trackChange } from './undo.ts';

/** The state of changes that the page shows. */
export interface ChangesState extends SharedState {
  readonly renaming: Signal<string | null>;
  readonly draft: Signal<Draft | null>;
}

/**
 * Changes to stored entries. Each shows its result at once and sends the request. If the request fails, it restores the
 * previous state and shows a message. No method throws.
 */
export interface ChangeModel {
  /** Asks for a name, and creates a folder in the shown folder. */
  createFolder(): Promise<void>;
  rename(entry: Entry, newName: string): Promise<void>;
  /** Asks for rules, and renames several entries of one folder by them. */
  renameSeveral(entries: readonly Entry[]): Promise<void>;
  /** Copies or moves into `folder`. Asks the user about each name that is taken there. */
  transfer(kind: TransferKind, paths: readonly string[], folder: string): Promise<void>;
  /** Asks for a folder, and copies or moves into it. */
  transferElsewhere(kind: TransferKind, paths: readonly string[]): Promise<void>;
  /** Asks for confirmation, and deletes permanently. */
  remove(entries: readonly Entry[]): Promise<void>;
  moveToTrash(entries: readonly Entry[]): Promise<void>;
  /** For changes whose code is only in lazily loaded parts of the page. */
  readonly context: ChangeContext;
}

export function createChangeModel(options: ChangesOptions, state: ChangesState, prompts: Prompts): ChangeModel {
  const base = createChangeContext(options, prompts, state);
  const shared: ChangeContext = {
    ...base,
    offerUndo: (changes, description) => offerUndo(base, changes, description),
    trackChange: (change) => trackChange(base, change),
  };
  const context = { ...shared, ...state, transfers: new RetryableTransfers(shared) };
  const create = (path: string) => createFolder(context, path);
  return {
    createFolder: () => createNamedFolder(context),
    rename: (entry, newName) => renameEntry(context, entry, newName),
    async renameSeveral(entries) {
      const [{ renameSeveral }, newNames] = await Promise.all([
        import('./rename-several.ts'),
        prompts.promptNames(entries, (name) => isNameTaken(context, entries, name)),
      ]);
      if (newNames) await renameSeveral(context, newNames);
    },
    transfer: (kind, paths, folder) => transfer(context, kind, paths, folder),
    transferElsewhere: (kind, paths) => transferElsewhere(context, kind, paths, create),
    remove: (entries) => removeEntries(context, entries),
    moveToTrash: (entries) => moveEntriesToTrash(context, entries),
    context,
  };
}

/** Returns whether the folder of the entries contains a file or folder of a name, as far as is known. */
function isNameTaken({ folder }: ChangeContext, [first]: readonly Entry[], name: string): boolean {
  const parent = parentOf(first?.path ?? '');
  return folder.entryOf(parent + name) !== undefined || folder.entryOf(`${parent}${name}/`) !== undefined;
}

interface ConnectedOptions extends Omit<ChangesOptions, 'service' | 'pathLocks'> {
  readonly service: Service;
  /** Null without access control. */
  readonly account: Account | null;
  /** Whether the service runs operations as jobs. */
  readonly hasJobs: boolean;
}

/** Creates the changes of a page. The service runs those of folders as jobs. Also shows the user's jobs of other pages. */
export function connectChangeModel(
  { account, hasJobs, ...options }: ConnectedOptions,
  state: ChangesState,
  prompts: Prompts,
): ChangeModel {
  const user = () => account?.username.peek() ?? null;
  const isListed = () => account === null || user() !== null;
  const jobs = createJobs(options.service, { user, isListed, memory: SESSION_JOBS, pause: pauseWhileVisible });
  const service = withFileOperations(options.service, jobs);
  const model = createChangeModel({ ...options, service, pathLocks: PAGE_LOCKS }, state, prompts);
  if (hasJobs) showOtherJobs(model.context, jobs, account);
  return model;
}

/** Shows the jobs that this page did not start: now, after signing in, and when the page is shown again. */
function showOtherJobs(context: ChangeContext, jobs: Jobs, account: Account | null): void {
  const show = async () => {
    const others = await jobs.findOthers();
    if (others.length === 0) return;
    const { followJob } = await import('./other-jobs.ts');
    for (const job of others) void followJob(context, jobs, job);
  };
  let isLooking = false;
  const tryToShow = async () => {
    if (isLooking) return;
    isLooking = true;
    // The jobs continue even if they can't be shown, and the next attempt can find them.
    await show().catch(() => {});
    isLooking = false;
  };
  effect(() => {
    void account?.username.value;
    untracked(() => void tryToShow());
  });
  document.addEventListener('visibilitychange', () => !document.hidden && void tryToShow());
}
