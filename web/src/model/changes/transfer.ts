import { batch } from '@preact/signals';
import { isFolderPath, isWithin, nameOf, parentOf } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Text } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import type { Change } from '../folder/change-log.ts';
import { createTakenNames } from '../name-conflicts.ts';
import { type ChangeContext, canRetry, entryAt, moveFocusOff, pendingEntryAt } from './change-context.ts';
import { describeErrors, subjectOf } from './change-texts.ts';
import type { Outcome } from './operations.ts';
import {
  askOnConflict,
  freeDestination,
  type RetryableTransfers,
  type TransferItem,
  type TransferKind,
  type TransferRequest,
  type Transferred,
} from './transfer-requests.ts';

interface TransferContext extends ChangeContext {
  readonly transfers: RetryableTransfers;
}

/** Copies or moves into the folder `target`. Asks the user about each name that is taken there. */
export async function transfer(
  context: TransferContext,
  kind: TransferKind,
  paths: readonly string[],
  target: string,
): Promise<void> {
  const { service, folder } = context;
  const valid = rejectInvalid(context, kind, paths, target);
  if (valid.length === 0) return;
  const known = folder.knownEntries(valid);
  const isTargetShown = folder.path.value === target;
  const names = createTakenNames(service, folder);
  // A copy in the folder of its source is a duplicate, which must not replace anything: find the free names first.
  const hasDuplicates = valid.some((path) => parentOf(path) === target);
  if (hasDuplicates) await names.learn(target);
  const items = valid.map((path) => {
    const destination = `${target}${path.slice(parentOf(path).length)}`;
    return itemOf(path, destination === path ? freeDestination(path, names) : destination, known.get(path));
  });
  const running = run(context, kind, items, target);
  if (isTargetShown) select(context, items);
  await running;
}

/** Asks the user for the destination folder, and copies or moves into it. */
export async function transferElsewhere(
  context: TransferContext,
  kind: TransferKind,
  paths: readonly string[],
  create: (path: string) => Promise<boolean>,
): Promise<void> {
  const { prompts, folder, messages, language } = context;
  if (paths.length === 0) return;
  const start = folder.path.value;
  try {
    const target = await prompts.pickFolder({ kind, paths, start, create });
    if (target !== null) await transfer(context, kind, paths, target);
  } catch {
    // The dialog could not be loaded.
    const { text } = language.value;
    const said = describeFailure(kind, paths, paths.length, text);
    messages.show({ kind: 'error', text: said, detail: text.problems.unreachable });
  }
}

/** Shows messages about paths that can't be copied or moved into the folder, and returns the other paths. */
function rejectInvalid(
  { messages, language }: TransferContext,
  kind: TransferKind,
  paths: readonly string[],
  target: string,
): readonly string[] {
  const { text } = language.value;
  const { changes } = text;
  const intoThemselves = paths.filter((path) => isWithin(target, path));
  if (intoThemselves.length > 0) {
    const subject = subjectOf(intoThemselves);
    messages.show({
      kind: 'error',
      text: kind === 'copy' ? changes.copyIntoItself(subject) : changes.moveIntoItself(subject),
    });
  }
  const alreadyThere = kind === 'move' ? paths.filter((path) => parentOf(path) === target) : [];
  if (alreadyThere.length > 0) {
    const said = changes.alreadyThere({ ...subjectOf(alreadyThere), folder: folderName(target, text) });
    messages.show({ kind: 'done', text: said });
  }
  const invalid = new Set([...intoThemselves, ...alreadyThere]);
  return paths.filter((path) => !invalid.has(path));
}

/** Selects the items in the shown folder, and focuses the first. */
function select({ folder, selection }: TransferContext, items: readonly TransferItem[]): void {
  const paths = items.map(({ destination }) => destination);
  selection.set(paths);
  const first = paths.find((path) => folder.indexOf(path) >= 0);
  if (first !== undefined) folder.focused.value = first;
}

function run(
  context: TransferContext,
  kind: TransferKind,
  items: readonly TransferItem[],
  target: string,
): Promise<void> {
  return context.trackChange((offerUndo) => transferAll({ ...context, offerUndo }, kind, items, target));
}

async function transferAll(
  context: TransferContext,
  kind: TransferKind,
  items: readonly TransferItem[],
  target: string,
): Promise<void> {
  const { service, folder, language, transfers } = context;
  const { text } = language.value;
  const names = createTakenNames(service, folder);
  const outcome = await perform(context, kind, items, {
    title: (kind === 'copy' ? text.changes.copying : text.changes.moving)({
      ...subjectOf(pathsOf(items)),
      folder: folderName(target, text),
    }),
    isFree: ({ destination }) => !names.isTaken(target, nameOf(destination)),
    request: askOnConflict(context, kind, { transfers, items, names }),
  });
  const incomplete = kind === 'copy' ? await findExisting(context, outcome.interrupted) : outcome.interrupted;
  report(context, kind, { ...outcome, incomplete }, target);
  if (kind === 'copy') void refreshAfterCancel(context, incomplete);
}

/** Returns the cancelled items whose copies exist. A job has removed them before it ends. */
async function findExisting(
  { folderExists }: TransferContext,
  cancelled: readonly TransferItem[],
): Promise<readonly TransferItem[]> {
  const exists = await Promise.all(cancelled.map(({ destination }) => folderExists(destination)));
  return cancelled.filter((_item, index) => exists[index]);
}

interface TransferOutcome extends Omit<Outcome<TransferItem, unknown>, 'done'> {
  readonly transferred: readonly (Transferred & { readonly item: TransferItem })[];
  /** Items that the user skipped because their names were taken. */
  readonly skipped: readonly TransferItem[];
}

/** The outcome of a copy or move that the user follows. */
interface ReportedOutcome extends TransferOutcome {
  /** Cancelled items of which a part is at the destination. */
  readonly incomplete: readonly TransferItem[];
}

interface TransferPlan {
  readonly title: string;
  /** Returns whether the destination is free. Existing entries stay visible until they are replaced. */
  readonly isFree: (item: TransferItem) => boolean;
  readonly request: TransferRequest;
}

/** Shows each item at its destination, sends the requests, and restores the items that were not transferred. */
async function perform(
  context: TransferContext,
  kind: TransferKind,
  items: readonly TransferItem[],
  { title, isFree, request }: TransferPlan,
): Promise<TransferOutcome> {
  const { folder, clipboard, operations } = context;
  const sources = pathsOf(items);
  const destinations = items.map(({ destination }) => destination);
  const changes = items.map((item) => changeOf(kind, item, isFree(item) ? pendingEntryAt : undefined));
  const pending = batch(() => {
    if (kind === 'move') moveFocusOff(folder, new Set(sources));
    return changes.map((change) => folder.begin(change));
  });

  const paths = kind === 'copy' ? { read: sources, written: destinations } : { written: [...sources, ...destinations] };
  const { done, ...others } = await operations.perform(items, { title, paths, work: request });

  const transferred = done.flatMap(({ item, result }) => (result ? [{ item, ...result }] : []));
  batch(() => {
    for (const { item, path } of transferred) {
      folder.apply(changeOf(kind, { ...item, destination: path }, entryAt));
    }
    if (kind === 'move') clipboard.remapPaths(new Map(transferred.map(({ item, path }) => [item.path, path])));
    for (const change of pending) change.rollback();
  });
  // The service decides about times and ETags at the destination. The source is as expected if every item left it.
  const isIncomplete = transferred.length < items.length;
  context.refresh([...destinations, ...(isIncomplete ? sources : [])].map(parentOf), kind === 'move' ? sources : []);
  return { ...others, transferred, skipped: done.flatMap(({ item, result }) => (result ? [] : [item])) };
}

/** Returns the change that a copy or move makes. Without `createEntry`, the destination stays as it is. */
function changeOf(
  kind: TransferKind,
  { path, destination, entry }: TransferItem,
  createEntry: ((path: string, entry: Entry) => Entry) | undefined,
): Change {
  const added =
    entry && createEntry ? [createEntry(destination, kind === 'copy' ? withCurrentTime(entry) : entry)] : [];
  return { removed: kind === 'move' ? [path] : [], added };
}

const withCurrentTime = (entry: Entry): Entry =>
  entry.type === 'file' ? { ...entry, modified: new Date().toISOString() } : entry;

/** Shows messages about the results, with buttons to undo a move and to retry failed items. */
function report(context: TransferContext, kind: TransferKind, outcome: ReportedOutcome, target: string): void {
  const { messages, language } = context;
  const { text } = language.value;
  const { transferred, skipped, failed, interrupted, notStarted } = outcome;
  const all = transferred.length + failed.length + interrupted.length + notStarted.length;
  const subject = subjectOf(pathsOf(transferred.map(({ item }) => item)));
  const said = (kind === 'copy' ? text.changes.copied : text.changes.moved)({
    ...subject,
    folder: folderName(target, text),
  });
  const action = undoAction(context, kind, outcome, target, said);
  if (interrupted.length + notStarted.length > 0) {
    messages.show({ kind: 'done', ...describeCancelled(kind, outcome, all + skipped.length, text), action });
  } else if (transferred.length > 0) {
    messages.show({ kind: 'done', text: said, action });
  }
  if (failed.length === 0) return;
  const items = failed.map(({ item }) => item);
  const retry = { label: text.controls.retry, run: () => void run(context, kind, items, target) };
  messages.show({
    kind: 'error',
    text: describeFailure(kind, pathsOf(items), all, text),
    detail: describeErrors(errorsOf(failed), language.value),
    action: failed.some(({ error }) => canRetry(error)) ? retry : undefined,
  });
}

/** Returns the button that undoes the change; undefined without the trash, versions or permissions that this needs. */
function undoAction(
  context: TransferContext,
  kind: TransferKind,
  { transferred }: TransferOutcome,
  target: string,
  said: string,
) {
  const { permissions, hasTrash } = context;
  const hasReplaced = transferred.some((one) => one.hasReplaced);
  const mayWrite = (folder: string) => permissions.allowsIn(folder, 'write');
  // A copied folder moves to the trash, and a replaced one comes back from there.
  const needsTrash = transferred.some(
    ({ path, hasReplaced: replaced }) => isFolderPath(path) && (kind === 'copy' || replaced),
  );
  const isAllowed =
    (hasTrash || !needsTrash) &&
    !transferred.some(({ deletesVersions }) => deletesVersions) &&
    permissions.allowsIn(target, 'manage') &&
    (!hasReplaced || mayWrite(target)) &&
    (kind === 'copy' ||
      (permissions.allowsIn(target, 'read') && transferred.every(({ item }) => mayWrite(parentOf(item.path)))));
  return isAllowed
    ? context.offerUndo(
        transferred.map((one) => undoableOf(kind, one)),
        said,
      )
    : undefined;
}

function undoableOf(kind: TransferKind, { item, path, change, hasReplaced }: TransferOutcome['transferred'][number]) {
  const added = kind === 'move' && item.entry ? [item.entry] : [];
  // The service restores what was replaced. The page reads it again.
  return { change, path, removed: hasReplaced ? [] : [path], added };
}

/** Describes that some or all items could not be copied or moved. */
function describeFailure(kind: TransferKind, paths: readonly string[], all: number, { changes }: Text): string {
  const count = paths.length;
  if (count < all) return (kind === 'copy' ? changes.someNotCopied : changes.someNotMoved)({ count, all });
  return (kind === 'copy' ? changes.notCopied : changes.notMoved)(subjectOf(paths));
}

function describeCancelled(
  kind: TransferKind,
  { transferred, incomplete }: ReportedOutcome,
  all: number,
  { changes }: Text,
): { readonly text: string; readonly detail: string | undefined } {
  const describe = kind === 'copy' ? changes.copyCancelled : changes.moveCancelled;
  const describeInterrupted = kind === 'copy' ? changes.copyRolledBack : changes.moveIncomplete;
  const details = incomplete.map(({ path }) => describeInterrupted({ name: nameOf(path) }));
  return {
    text: describe({ count: transferred.length, all }),
    detail: details.length > 0 ? details.join('\n') : undefined,
  };
}

/** The interval and the maximum number of checks whether the service has removed a cancelled copy. */
const CHECK_INTERVAL_MS = 500;
const MAX_CHECKS = 20;

/** Refreshes the shown folder after the service has removed the incomplete copies of cancelled folders. */
async function refreshAfterCancel(context: TransferContext, cancelled: readonly TransferItem[]): Promise<void> {
  if (cancelled.length === 0) return;
  let remaining = cancelled.map(({ destination }) => destination);
  for (let checks = 0; checks < MAX_CHECKS && remaining.length > 0; checks++) {
    await new Promise((resolve) => setTimeout(resolve, CHECK_INTERVAL_MS));
    const exists = await Promise.all(remaining.map(context.folderExists));
    remaining = remaining.filter((_path, index) => exists[index]);
  }
  context.refresh(cancelled.map(({ destination }) => parentOf(destination)));
}

function itemOf(path: string, destination: string, known: Entry | undefined): TransferItem {
  const entry = known ?? (isFolderPath(path) ? folderEntry(path) : undefined);
  return { path, destination, entry, size: entry?.type === 'file' ? entry.size : undefined };
}

const pathsOf = (items: readonly { readonly path: string }[]) => items.map(({ path }) => path);
const errorsOf = (failed: TransferOutcome['failed']) => failed.map(({ error }) => error);
