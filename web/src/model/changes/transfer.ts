import { createTakenNames } from '../folder/taken-names.ts';
import { isWithin, nameOf, parentOf } from '../../platform/paths.ts';
import { folderName } from '../../platform/text/folder-name.ts';
import type { Text } from '../../platform/text/language.ts';
import { createAttempts } from './attempts.ts';
import { perform, type Step, type StepsOutcome, stepOf, type TransferKind } from './steps.ts';
import type { Tools } from './change-context.ts';
import { askingTransport, freeDestination, plainTransport } from './transport.ts';
import { reasonsOf, subjectOf } from './words.ts';

export interface Transfers {
  /** Copies or moves into `target`; asks what to do where names are taken there. */
  transfer(kind: TransferKind, paths: readonly string[], target: string): Promise<void>;
}

export function createTransfers(tools: Tools): Transfers {
  const { service, folder, selection, messages, rights, language } = tools;
  const attempts = createAttempts(service, tools.isFolderThere);

  /** Says what makes no sense, and gives the rest. */
  const sift = (kind: TransferKind, paths: readonly string[], target: string): readonly string[] => {
    const { text } = language.value;
    const { changes } = text;
    const intoThemselves = paths.filter((path) => isWithin(target, path));
    if (intoThemselves.length > 0) {
      const subject = subjectOf(intoThemselves);
      messages.say({
        kind: 'error',
        text: kind === 'copy' ? changes.copyIntoItself(subject) : changes.moveIntoItself(subject),
      });
    }
    const there = kind === 'move' ? paths.filter((path) => parentOf(path) === target) : [];
    if (there.length > 0) {
      const said = changes.alreadyThere({ ...subjectOf(there), folder: folderName(target, text) });
      messages.say({ kind: 'done', text: said });
    }
    const senseless = new Set([...intoThemselves, ...there]);
    return paths.filter((path) => !senseless.has(path));
  };

  const run = async (kind: TransferKind, steps: readonly Step[], target: string): Promise<void> => {
    const { text } = language.value;
    const names = createTakenNames(service, folder);
    const outcome = await perform(tools, kind, steps, {
      title: (kind === 'copy' ? text.changes.copying : text.changes.moving)({
        ...subjectOf(pathsOf(steps)),
        folder: folderName(target, text),
      }),
      isFree: ({ destination }) => !names.isTaken(target, nameOf(destination)),
      transport: askingTransport(tools, kind, { names, attempts, steps }),
    });
    tell(kind, outcome, target);
    if (kind === 'copy') void takenBack(tools, outcome.interrupted);
  };

  const undo = async (steps: readonly Step[]): Promise<void> => {
    const { text } = language.value;
    const { arrived, failed } = await perform(tools, 'move', steps, {
      title: text.changes.undoing(subjectOf(pathsOf(steps))),
      isFree: () => true,
      transport: plainTransport(attempts, 'move'),
    });
    if (arrived.length > 0) messages.announce(text.changes.undone);
    if (failed.length === 0) return;
    const detail = reasonsOf(errorsOf(failed), language.value);
    messages.say({ kind: 'error', text: text.changes.notUndone, detail });
  };

  const mayMoveBack = (moved: StepsOutcome['arrived'], target: string) =>
    rights.mayIn(target, 'read') &&
    rights.mayIn(target, 'manage') &&
    moved.every(({ step }) => rights.mayIn(parentOf(step.path), 'write'));

  const tell = (kind: TransferKind, outcome: StepsOutcome, target: string) => {
    const { text } = language.value;
    const { arrived, skipped, failed, interrupted, left } = outcome;
    const asked = [arrived, failed, interrupted, left].reduce((sum, { length }) => sum + length, 0);
    const moved = kind === 'move' ? arrived.filter(({ hasReplaced }) => !hasReplaced) : [];
    const back = () => {
      const known = folder.recall(moved.map(({ path }) => path));
      void undo(moved.map(({ step, path }) => stepOf(path, step.path, known.get(path))));
    };
    const canUndo = moved.length > 0 && mayMoveBack(moved, target);
    const action = canUndo ? { label: text.controls.undo, run: back } : undefined;

    if (interrupted.length + left.length > 0) {
      messages.say({ kind: 'done', ...cancelled(kind, outcome, { all: asked + skipped.length, text }), action });
    } else if (arrived.length > 0) {
      const subject = subjectOf(arrived.map(({ step }) => step.path));
      const said = kind === 'copy' ? text.changes.copied : text.changes.moved;
      messages.say({ kind: 'done', text: said({ ...subject, folder: folderName(target, text) }), action });
    }
    if (failed.length > 0) tellFailed(kind, outcome, { all: asked, target, text });
  };

  const tellFailed = (
    kind: TransferKind,
    { failed }: StepsOutcome,
    { all, target, text }: { all: number; target: string; text: Text },
  ) => {
    const items = failed.map(({ item }) => item);
    const retry = { label: text.controls.retry, run: () => void run(kind, items, target) };
    messages.say({
      kind: 'error',
      text: notDone(kind, pathsOf(items), { all, text }),
      detail: reasonsOf(errorsOf(failed), language.value),
      action: failed.some(({ error }) => error.isPassing) ? retry : undefined,
    });
  };

  /** Has what comes into the shown folder be selected, and the first of it focused. */
  const show = (paths: readonly string[]) => {
    selection.set(paths);
    const first = paths.find((path) => folder.indexOf(path) >= 0);
    if (first !== undefined) folder.focused.value = first;
  };

  return {
    async transfer(kind, paths, target) {
      const wanted = sift(kind, paths, target);
      if (wanted.length === 0) return;
      const known = folder.recall(wanted);
      const isHere = folder.path.value === target;
      const names = createTakenNames(service, folder);
      // Copies beside what they are of: nobody means these to replace anything.
      const areDuplicates = wanted.some((path) => parentOf(path) === target);
      if (areDuplicates) await names.learn(target);
      const steps = wanted.map((path) => {
        const destination = `${target}${path.slice(parentOf(path).length)}`;
        return stepOf(path, destination === path ? freeDestination(path, names) : destination, known.get(path));
      });
      const running = run(kind, steps, target);
      if (isHere) show(steps.map(({ destination }) => destination));
      await running;
    },
  };
}

const pathsOf = (steps: readonly Step[]) => steps.map(({ path }) => path);
const errorsOf = (failed: StepsOutcome['failed']) => failed.map(({ error }) => error);

/** Says that all of these could not be copied or moved, or some of them. */
function notDone(kind: TransferKind, paths: readonly string[], { all, text }: { all: number; text: Text }): string {
  const { changes } = text;
  const count = paths.length;
  if (count < all) return (kind === 'copy' ? changes.someNotCopied : changes.someNotMoved)({ count, all });
  return (kind === 'copy' ? changes.notCopied : changes.notMoved)(subjectOf(paths));
}

/** What is to be said of a transfer that was cancelled. */
function cancelled(
  kind: TransferKind,
  { arrived, interrupted }: StepsOutcome,
  { all, text }: { all: number; text: Text },
): { readonly text: string; readonly detail: string | undefined } {
  const { changes } = text;
  const say = kind === 'copy' ? changes.copyCancelled : changes.moveCancelled;
  const sayOfOne = kind === 'copy' ? changes.copyTakenBack : changes.moveLeftOver;
  const details = interrupted.map(({ path }) => sayOfOne({ name: nameOf(path) }));
  return { text: say({ count: arrived.length, all }), detail: details.length > 0 ? details.join('\n') : undefined };
}

/** Milliseconds between two looks, and how often to look, whether a copy that was cancelled is gone. */
const LOOK_EVERY = 500;
const LOOKS = 20;

/** Shows the destinations of cancelled copies as they are once the service has taken these back. */
async function takenBack(tools: Tools, interrupted: readonly Step[]): Promise<void> {
  if (interrupted.length === 0) return;
  let left = interrupted.map(({ destination }) => destination);
  for (let look = 0; look < LOOKS && left.length > 0; look++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
    const isThere = await Promise.all(left.map(tools.isFolderThere));
    left = left.filter((_path, index) => isThere[index]);
  }
  tools.refresh(interrupted.map(({ destination }) => parentOf(destination)));
}
