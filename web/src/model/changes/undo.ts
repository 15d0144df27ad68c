import { batch } from '@preact/signals';
import { isWithin, nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { undoChange } from '../../platform/service/undo.ts';
import type { Message } from '../messages.ts';
import {
  type BaseContext,
  type ChangeContext,
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
export function offerUndo(
  context: BaseContext,
  changes: readonly Undoable[],
  description: string,
  place?: Place,
): Message['action'] {
  if (changes.every(({ change }) => change === undefined)) return undefined;
  // After a new change, a redo would change a state that the user no longer expects.
  for (const { id, action } of context.messages.shown.value) {
    if (action && context.redos.value.includes(action.run)) context.messages.dismiss(id);
  }
  context.redos.value = [];
  return place ? place.offer(changes, description) : offerReversal(context, 'undo', changes, description).action;
}

/** See `ChangeContext.trackChange`. */
export async function trackChange<Result>(
  context: BaseContext,
  change: (offerUndo: ChangeContext['offerUndo']) => Promise<Result>,
): Promise<Result> {
  const place = takePlace(context, 'undo');
  try {
    return await change((changes, description) => offerUndo(context, changes, description, place));
  } finally {
    place.end();
  }
}

/** A redo is the undo of an undo. */
type Direction = 'undo' | 'redo';

/** The maximum number of changes that can be undone. */
const MAX_UNDOS = 100;

/** The place of a change among the undos or redos, from its start to its end. */
interface Place {
  /** Offers to undo the change, or undoes it at once if the user asked for that while the change was in progress. */
  offer(changes: readonly Undoable[], description: string): Message['action'];
  /** The change has ended. Without an offer, it can't be undone. */
  end(): void;
}

/** Milliseconds after which a message says that an undo waits for the end of its change. */
const SHOW_WAITING_MS = 400;

function takePlace(context: BaseContext, direction: Direction): Place {
  const { messages, language, undoQueue } = context;
  const own = listOf(context, direction);
  const opposite = listOf(context, direction === 'undo' ? 'redo' : 'undo');
  const { promise: offered, resolve } = Promise.withResolvers<(() => void) | undefined>();
  const run = () => {
    let isWanted = true;
    const cancel = () => {
      isWanted = false;
      own.value = [...own.value, run];
      opposite.value = without(opposite.value, cancel);
    };
    own.value = without(own.value, run);
    opposite.value = [...opposite.value, cancel];
    let shown: number | undefined;
    const showing = setTimeout(() => {
      if (isWanted) shown = messages.show({ kind: 'done', text: language.value.text.changes.undoWaits });
    }, SHOW_WAITING_MS);
    const ready = async () => {
      const start = await offered;
      clearTimeout(showing);
      if (shown !== undefined) messages.dismiss(shown);
      opposite.value = without(opposite.value, cancel);
      return isWanted ? start : undefined;
    };
    undoQueue.startWhen(ready());
  };
  own.value = [...own.value, run];
  return {
    offer(changes, description) {
      const { action, start } = offerReversal(context, direction, changes, description, run);
      resolve(start);
      return action;
    },
    end() {
      own.value = without(own.value, run);
      resolve(undefined);
    },
  };
}

const listOf = ({ undos, redos }: BaseContext, direction: Direction): Undos => (direction === 'undo' ? undos : redos);

const without = <Value>(values: readonly Value[], value: Value) => values.filter((other) => other !== value);

/**
 * Offers to reverse changes. `description` says what they did. `place` is the function that it replaces; by default, it is
 * the last one.
 */
function offerReversal(
  context: BaseContext,
  direction: Direction,
  changes: readonly Undoable[],
  description: string,
  place?: () => void,
) {
  const { messages, language, undoQueue } = context;
  const offered = listOf(context, direction);
  const start = () => {
    offered.value = without(offered.value, run);
    // After Ctrl+Z, the button of the message would undo the change a second time.
    const shown = messages.shown.value.find((message) => message.action === action);
    if (shown) messages.dismiss(shown.id);
    void reverse(context, direction, changes, description);
  };
  const run = () => {
    offered.value = without(offered.value, run);
    undoQueue.start(start);
  };
  const action = { label: language.value.text.actions[direction], run };
  const isPlaced = place !== undefined && offered.value.includes(place);
  offered.value = isPlaced
    ? offered.value.map((other) => (other === place ? run : other))
    : [...offered.value, run].slice(-MAX_UNDOS);
  return { action, start };
}

/** Shows the state before the changes at once, sends the requests, and shows again what could not be undone. */
async function reverse(
  context: BaseContext,
  direction: Direction,
  changes: readonly Undoable[],
  description: string,
): Promise<void> {
  const place = takePlace(context, direction === 'undo' ? 'redo' : 'undo');
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
  // In the order in which they were done: the last one is reversed first.
  const isKnown = opposite.some(({ change }) => change !== undefined);
  const action = isKnown ? place.offer(opposite, description) : undefined;
  place.end();
  if (done.length === items.length) {
    const describeEnd = direction === 'undo' ? texts.undone : texts.redone;
    messages.show({ kind: 'done', text: describeEnd({ message: description }), action });
  }
  const cancelled = [...interrupted, ...notStarted].toReversed();
  if (cancelled.length > 0) {
    const text = texts.undoCancelled({ count: done.length, all: items.length });
    messages.show({ kind: 'done', text, action: offerReversal(context, direction, cancelled, description).action });
  }
  if (failed.length > 0)
    reportFailed(context, failed, items.length, (retries) => void reverse(context, direction, retries, description));
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
  failed: readonly Failed<Undoable>[],
  all: number,
  retry: (changes: readonly Undoable[]) => void,
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
      ? { label: controls.retry, run: () => retry(retriesOf(failed)) }
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
