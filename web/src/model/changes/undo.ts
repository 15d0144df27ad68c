import { batch } from '@preact/signals';
import { isWithin, nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { undoChange } from '../../platform/service/undo.ts';
import type { Message } from '../messages.ts';
import {
  type BaseContext,
  canRetry,
  moveFocusOff,
  pendingEntryAt,
  remapPaths,
  type Undoable,
  type Undos,
} from './change-context.ts';
import { subjectOf } from './change-texts.ts';
import type { Failed, ItemContext } from './operations.ts';

/** See `ChangeContext.offerUndo`. */
export function offerUndo(context: BaseContext, changes: readonly Undoable[]): Message['action'] {
  if (changes.every(({ change }) => change === undefined)) return undefined;
  // After a new change, a redo would change a state that the user no longer expects.
  context.redos.value = [];
  return offer(context, 'undo', changes);
}

/** A redo is the undo of an undo. */
type Direction = 'undo' | 'redo';

/** The maximum number of changes that can be undone. */
const MAX_UNDOS = 100;

function offer(context: BaseContext, direction: Direction, changes: readonly Undoable[]) {
  const { messages, language } = context;
  const offered: Undos = direction === 'undo' ? context.undos : context.redos;
  const run = () => {
    offered.value = offered.value.filter((other) => other !== run);
    // After Ctrl+Z, the button of the message would undo the change a second time.
    const shown = messages.shown.value.find((message) => message.action === action);
    if (shown) messages.dismiss(shown.id);
    void reverse(context, direction, changes);
  };
  const action = { label: language.value.text.controls.undo, run };
  offered.value = [...offered.value, run].slice(-MAX_UNDOS);
  return action;
}

/** Shows the state before the changes at once, sends the requests, and shows again what could not be undone. */
async function reverse(context: BaseContext, direction: Direction, changes: readonly Undoable[]): Promise<void> {
  const { folder, clipboard, operations, messages, language, trashChanges } = context;
  const items = changes.toReversed();
  const paths = items.map(({ path }) => path);
  const removed = items.flatMap((item) => item.removed);
  const added = items.flatMap((item) => item.added.map(({ path }) => path));
  const known = folder.knownEntries(removed);
  const newPaths = newPathsOf(items);
  const pending = batch(() => {
    remapPaths(context, newPaths);
    moveFocusOff(folder, new Set(removed));
    return items.map((item) =>
      folder.begin({ removed: item.removed, added: item.added.map((entry) => pendingEntryAt(entry.path, entry)) }),
    );
  });
  const texts = language.value.text.changes;
  const describe = direction === 'undo' ? texts.undoing : texts.redoing;
  const { done, failed, interrupted, notStarted } = await operations.perform(items, {
    title: describe(subjectOf(paths)),
    paths: { written: [...new Set([...paths, ...removed, ...added])] },
    work: afterLaterChanges((item, options) => sendUndo(context, item, options)),
  });
  const undone = new Set(done.map(({ item }) => item));
  batch(() => {
    const others = items.filter((item) => !undone.has(item));
    remapPaths(context, new Map([...newPathsOf(others)].map(([from, to]) => [to, from])));
    for (const item of undone) folder.apply(item);
    clipboard.remapPaths(newPathsOf([...undone]));
    for (const change of pending) change.rollback();
    trashChanges.value++;
  });
  context.refresh([...paths, ...removed, ...added].map(parentOf), removed);

  const opposite = done.map(({ item, result }) => oppositeOf(item, result, known));
  if (done.length > 0) messages.announce(direction === 'undo' ? texts.undone : texts.redone);
  if (opposite.some(({ change }) => change !== undefined)) {
    // In the order in which they were done: the last one is reversed first.
    offer(context, direction === 'undo' ? 'redo' : 'undo', opposite);
  }
  const cancelled = [...interrupted, ...notStarted].toReversed();
  if (cancelled.length > 0) {
    const text = texts.undoCancelled({ count: done.length, all: items.length });
    messages.show({ kind: 'done', text, action: offer(context, direction, cancelled) });
  }
  if (failed.length > 0) reportFailed(context, direction, failed, items.length);
}

/** Returns the new paths of the items that the undo moves or renames. */
function newPathsOf(items: readonly Undoable[]): ReadonlyMap<string, string> {
  return new Map(
    items.flatMap(({ removed: [from], added: [to] }): [string, string][] =>
      from === undefined || to === undefined ? [] : [[from, to.path]],
    ),
  );
}

/** Returns the change that undoes an undo. */
function oppositeOf(item: Undoable, change: string | undefined, known: ReadonlyMap<string, Entry>): Undoable {
  return {
    change,
    path: item.added[0]?.path ?? item.path,
    removed: item.added.map(({ path }) => path),
    added: item.removed.flatMap((path) => known.get(path) ?? []),
  };
}

type Work = (item: Undoable, options: ItemContext) => Promise<string | undefined>;

/** Returns work that waits for the changes made later in the same folder: a new folder can only be undone when it is empty. */
function afterLaterChanges(work: Work): Work {
  const started: { readonly path: string; readonly settled: Promise<unknown> }[] = [];
  return async (item, options) => {
    // An earlier item can have the name that this one gets back.
    const names = new Set(item.added.map((entry) => entry.path));
    const later = started.filter(({ path }) => isWithin(path, item.path) || names.has(path));
    const working = Promise.all(later.map(({ settled }) => settled)).then(() => work(item, options));
    started.push({ path: item.path, settled: working.catch(() => {}) });
    return working;
  };
}

/** Returns the ID of the undo. */
async function sendUndo(
  { service }: BaseContext,
  { change, isUncertain }: Undoable,
  options: ItemContext,
): Promise<string | undefined> {
  if (change === undefined) throw new ServiceError(404, 'Unknown change.', { code: 'change-not-found' });
  try {
    return await undoChange(service, change, options);
  } catch (error) {
    if (isUncertain && error instanceof ServiceError && error.code === 'already-undone') return undefined;
    throw error;
  }
}

/** The maximum number of items that a message names. */
const MAX_NAMED = 5;

/** Shows which changes could not be undone, and why. */
function reportFailed(
  context: BaseContext,
  direction: Direction,
  failed: readonly Failed<Undoable>[],
  all: number,
): void {
  const { messages, language } = context;
  const { text, reasonOf } = language.value;
  const { changes, controls } = text;
  const subject = subjectOf(failed.map(({ item }) => item.path));
  const named = failed
    .slice(0, MAX_NAMED)
    .map(({ item, error }) => changes.reasonFor({ name: nameOf(item.path), reason: reasonOf(error) }));
  const more = failed.length - named.length;
  const [only] = failed;
  messages.show({
    kind: 'error',
    text: failed.length < all ? changes.someNotUndone({ count: failed.length, all }) : changes.notUndone(subject),
    detail:
      only && all === 1
        ? reasonOf(only.error)
        : [...named, ...(more > 0 ? [changes.more({ count: more })] : [])].join('\n'),
    action: failed.some(({ error }) => canRetry(error))
      ? { label: controls.retry, run: () => void reverse(context, direction, retriesOf(failed)) }
      : undefined,
  });
}

/** Returns the failed changes in the order in which they were made. */
function retriesOf(failed: readonly Failed<Undoable>[]): readonly Undoable[] {
  const retries = failed.filter(({ error }) => canRetry(error));
  return retries
    .map(({ item, error }) => ({ ...item, isUncertain: item.isUncertain || error.isOutcomeUnknown }))
    .toReversed();
}
