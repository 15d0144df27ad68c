import { nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import type { Job, Jobs } from '../../platform/service/jobs.ts';
import { folderName } from '../../platform/text/names.ts';
import type { Message } from '../messages.ts';
import type { ChangeContext } from './change-context.ts';
import { subjectOf } from './change-texts.ts';

/** The result of a job of any kind, as the service returns it. */
interface JobResult {
  /** The new path of a folder or item. */
  readonly path?: string;
  /** The number of items that were removed from the trash. */
  readonly removed?: number;
}

/** A job as users see it. */
interface ShownJob {
  readonly title: string;
  /** Refreshed at the end of the job. */
  readonly changedFolders: readonly string[];
  readonly removed: readonly string[];
  readonly changesTrash: boolean;
  /** The item that the job changes. Only jobs on folders can be cancelled. */
  readonly path: string;
  readonly done: (result: JobResult) => string;
  readonly failed: string;
  readonly cancelled: Pick<Message, 'text' | 'detail'> | undefined;
}

/** Shows a job that this page did not start, and its outcome. Ignores a job of an unknown kind. */
export async function followJob(context: ChangeContext, jobs: Jobs, job: Job): Promise<void> {
  const { operations, messages, language, trashChanges } = context;
  const shown = describeJob(context, job);
  if (!shown) return;
  // No later change waits for the job: after a reload, the user has seen the state of the service.
  const outcome = await operations.perform([{ path: shown.path }], {
    title: shown.title,
    paths: { written: [] },
    work: (_item, options) => jobs.follow<JobResult>(job, options),
  });
  context.refresh(shown.changedFolders, shown.removed);
  if (shown.changesTrash) trashChanges.value++;
  for (const { result } of outcome.done) messages.show({ kind: 'done', text: shown.done(result) });
  for (const { error } of outcome.failed) {
    messages.show({ kind: 'error', text: shown.failed, detail: language.value.reasonOf(error) });
  }
  if (outcome.interrupted.length > 0 && shown.cancelled) messages.show({ kind: 'done', ...shown.cancelled });
}

function describeJob(context: ChangeContext, { kind, input }: Job): ShownJob | undefined {
  const pathIn = (name: string) => {
    const path = input[name];
    return typeof path === 'string' ? path : ROOT;
  };
  switch (kind) {
    case 'copy-folder':
    case 'move-folder':
      return describeTransfer(context, kind, pathIn('source'), pathIn('destination'));
    case 'rename-folder':
      return describeRename(context, pathIn('source'), pathIn('destination'));
    case 'delete-folder':
      return describeRemoval(context, pathIn('source'), context.hasTrash && input['permanent'] !== true);
    case 'delete-from-trash':
      return {
        ...describeRemoval(context, pathIn('source'), false),
        changedFolders: [],
        removed: [],
        changesTrash: true,
      };
    case 'restore-from-trash':
      return describeRestore(context, pathIn('source'), pathIn('destination'));
    case 'empty-trash':
      return describeEmptying(context);
    default:
      return undefined;
  }
}

function describeTransfer(
  { language }: ChangeContext,
  kind: 'copy-folder' | 'move-folder',
  source: string,
  destination: string,
): ShownJob {
  const { text } = language.value;
  const { changes } = text;
  const isCopy = kind === 'copy-folder';
  const subject = subjectOf([source]);
  const target = { ...subject, folder: folderName(parentOf(destination), text) };
  return {
    title: isCopy ? changes.copying(target) : changes.moving(target),
    changedFolders: [parentOf(source), parentOf(destination)],
    removed: isCopy ? [] : [source],
    changesTrash: false,
    path: source,
    done: () => (isCopy ? changes.copied(target) : changes.moved(target)),
    failed: isCopy ? changes.notCopied(subject) : changes.notMoved(subject),
    cancelled: isCopy
      ? { text: changes.copyCancelled({ count: 0, all: 1 }) }
      : { text: changes.moveCancelled({ count: 0, all: 1 }), detail: changes.moveIncomplete({ name: subject.name }) },
  };
}

function describeRename({ language }: ChangeContext, source: string, destination: string): ShownJob {
  const { changes, names } = language.value.text;
  const name = nameOf(source);
  return {
    title: changes.renaming({ name }),
    changedFolders: [parentOf(source)],
    removed: [source],
    changesTrash: false,
    path: source,
    done: () => changes.renamed({ before: name, name: nameOf(destination) }),
    failed: changes.notRenamed({ name }),
    cancelled: { text: names.notRenamed({ name }) },
  };
}

function describeRemoval({ language }: ChangeContext, source: string, isToTrash: boolean): ShownJob {
  const { changes } = language.value.text;
  const subject = subjectOf([source]);
  return {
    title: isToTrash ? changes.movingToTrash(subject) : changes.deleting(subject),
    changedFolders: [parentOf(source)],
    removed: [source],
    changesTrash: isToTrash,
    path: source,
    done: () => (isToTrash ? changes.movedToTrash(subject) : changes.deleted(subject)),
    failed: changes.notDeleted(subject),
    cancelled: {
      text: changes.deleteCancelled({ count: 0, all: 1 }),
      detail: changes.partlyDeleted({ name: subject.name }),
    },
  };
}

function describeRestore({ language }: ChangeContext, source: string, destination: string): ShownJob {
  const { changes } = language.value.text;
  const subject = subjectOf([source]);
  return {
    title: changes.restoring(subject),
    changedFolders: [parentOf(destination)],
    removed: [],
    changesTrash: true,
    path: source,
    done: ({ path = destination }) =>
      path === destination
        ? changes.restored(subject)
        : changes.restoredAs({ count: 1, before: subject.name, name: nameOf(path) }),
    failed: changes.notRestored(subject),
    cancelled: undefined,
  };
}

function describeEmptying({ language }: ChangeContext): ShownJob {
  const { trash } = language.value.text;
  return {
    title: trash.emptying,
    changedFolders: [],
    removed: [],
    changesTrash: true,
    path: ROOT,
    done: ({ removed = 0 }) => trash.emptied({ count: removed }),
    failed: trash.notEmptied,
    cancelled: { text: trash.emptyCancelled },
  };
}
