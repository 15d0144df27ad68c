import type { GuardedFiles } from '../access/guard.ts';
import type { ChangeLog, StoredChange } from '../changes/log.ts';
import { isStoreError, quoted, StoreError } from '../model/error.ts';
import { ROOT } from '../model/path.ts';
import type { Cancellable, Reporting, Store } from '../model/store.ts';
import { readAftermath } from './aftermath.ts';
import { changedSince, notUndoable, type StepContext, stepsFor } from './steps.ts';

export interface UndoOptions extends Reporting, Cancellable {
  readonly log: ChangeLog;
  /** The files of the user. */
  readonly files: GuardedFiles;
  /** Returns the files of the user whose changes are recorded as the undo of the change with this sequence number. */
  readonly filesToUndo: (sequence: number) => GuardedFiles;
  /** Tells whether the files are still the same. Absent for stores whose items have no identity. */
  readonly identify?: Store['identify'];
}

/**
 * Reverses a change with the permissions of the user. The undo is itself a change, so that undoing it redoes the change.
 * Some changes take two steps to undo. Both are checked before the first. If the second one fails, calling it again completes the undo.
 *
 * Throws `AccessDenied` if the user can see nothing at all; `change-not-found` also if the user can't see all of the change; `already-undone`; `not-undoable` if something that
 * came after the change forbids it, or if the previous content is not kept; and `database-unavailable`.
 */
export async function undo(id: string, { log, files, filesToUndo, identify, ...options }: UndoOptions): Promise<void> {
  const change = await findVisible(id, log, files);
  // Before the log is searched, which costs far more than the request.
  await files.requireUndo(change);
  const aftermath = await readAftermath(log, change);
  const { targets, done, obstacle } = aftermath;
  const steps = stepsFor(targets);
  if (done.length >= steps.length) throw alreadyUndone();
  if (obstacle) throw notUndoable(describeObstacle(obstacle, files));
  const changed = targets.at(-1) ?? change;
  const context: StepContext = { options, aftermath, identify, files: filesToUndo(changed.sequence) };
  const remaining = steps.slice(done.length);
  // A failure of the second step would leave the change half undone.
  for (const step of remaining) await describingFailures(step.check(context));
  for (const step of remaining) await describingFailures(step.run(context));
}

async function describingFailures(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    throw describeFailure(error);
  });
}

async function findVisible(id: string, log: ChangeLog, files: GuardedFiles): Promise<StoredChange> {
  files.requireChanges(ROOT);
  const change = await log.find(id);
  if (change && isVisible(change, files)) return change;
  throw new StoreError('change-not-found', `The change ${quoted(id)} does not exist, or is no longer in the log.`);
}

/** Returns whether the user sees all of a change. */
function isVisible(change: StoredChange, files: GuardedFiles): boolean {
  const [visible] = files.visibleChanges(change, ROOT);
  return visible?.type === change.type && visible.path === change.path && visible.from === change.from;
}

function alreadyUndone(): StoreError {
  return new StoreError('already-undone', 'The change is already undone. To redo it, undo the change that undid it.');
}

/** Describes a later change, as far as the user can see it. */
function describeObstacle(change: StoredChange, files: GuardedFiles): string {
  const { path, from, user } = change;
  if (!isVisible(change, files)) return 'Another change came after it.';
  const author = user === undefined ? '' : ` by ${quoted(user)}`;
  const subject = from === undefined ? quoted(path) : `${quoted(from)} to ${quoted(path)}`;
  return `A later change${author} affects the same files: ${change.type} ${subject}. Undo that change first.`;
}

/** Returns the error of an undo whose files are not as the change left them. */
function describeFailure(error: unknown): unknown {
  if (!isStoreError(error)) return error;
  switch (error.kind) {
    case 'condition-failed':
      return changedSince('file', error);
    case 'not-found':
    case 'already-exists':
    case 'wrong-kind':
    case 'unsupported':
      return notUndoable(error.message, error);
    default:
      return error;
  }
}
