import type { Operation, Outcome, UndoableOperation, UndoStep } from './history.ts';
import { END, having, optionally, type Program, type Thread, thread, to } from './program.ts';
import { areAbsent, type Change, type Promises } from './promises.ts';

type Undo = Operation & { readonly does: 'undo' };

/** The numbers of the paths in a history, and the guarantees of its store. */
interface Context {
  readonly promises: Promises;
  readonly numberOf: (path: string) => number;
  readonly changeOf: (operation: Operation) => Change;
}

/** The types of changes that delete or move files. All others give a path a content. */
const STEP_BACK = /\.(?:deleted|moved)$/;

/** Returns the steps of an undo: those in the response, or otherwise all possible ones. */
export function undoProgram({ of, files }: Undo, outcome: Outcome, context: Context): Program {
  if (outcome.is !== 'done') return optionally([...stepsBack(of, context), ...revert(of, files, context)]);
  const steps = outcome.steps ?? [];
  const isStepBack = ({ type }: UndoStep) => STEP_BACK.test(type);
  const given = steps.filter((step) => !isStepBack(step));
  // The response has the size of a file, which identifies its content.
  const exact = given.flatMap(({ path, size }) => (size === undefined ? [] : [[path, [size]] as const]));
  return [
    ...(steps.some(isStepBack) ? stepsBack(of, context) : []),
    ...(given.length > 0 ? revert(of, { ...files, ...Object.fromEntries(exact) }, context) : []),
  ];
}

/** Returns the steps of an undo that failed: it can have taken some of them, such as the first of two. */
export function refusedUndoProgram(operation: Undo, outcome: Outcome, context: Context): Program {
  const late = lateChange(operation, context);
  const lateSteps = late && context.promises.refused(late, 404, () => []);
  return optionally([...undoProgram(operation, outcome, context), ...(lateSteps ?? [])]);
}

/** Returns the change that can fail if another request was earlier: a restore, or the move back. */
function lateChange({ of, files }: Undo, { changeOf }: Context): Change | undefined {
  if (of.does === 'delete') return changeOf(restoreOf(of.path, files));
  return of.does === 'move' || of.does === 'rename' ? changeOf(reversed(of)) : undefined;
}

function restoreOf(path: string, files: Undo['files']): Operation {
  const [content = 0] = files[path] ?? [];
  return { does: 'restore', item: '', path, content };
}

/** Returns the steps that delete what an operation created, or move it back. */
function stepsBack(of: UndoableOperation, { promises, changeOf }: Context): Program {
  switch (of.does) {
    case 'upload':
    case 'restore':
    case 'restore version':
      return promises.delete(changeOf({ does: 'delete', path: of.path }));
    case 'copy':
      return promises.delete(changeOf({ does: 'delete', path: of.to }));
    case 'move':
    case 'rename':
      return promises.move(changeOf(reversed(of)));
    case 'move folder':
    case 'rename folder':
      return promises.moveFolder(changeOf(reversed(of)));
    case 'copy folder':
      return promises.deleteFolder(changeOf({ does: 'delete folder', folder: of.to }));
    case 'create folder':
    case 'delete':
    case 'delete folder':
      return [];
  }
}

/** Returns the steps that restore the contents that an operation replaced or deleted. */
function revert(of: UndoableOperation, files: Undo['files'], { promises, numberOf, changeOf }: Context): Program {
  switch (of.does) {
    case 'delete folder': {
      const contents = Object.entries(files).map(([path, [content = 0]]) => [numberOf(path), content] as const);
      return promises.restoreFolder(changeOf(of), contents);
    }
    case 'delete':
      return promises.restore(changeOf(restoreOf(of.path, files)));
    case 'create folder':
    case 'copy folder':
    case 'move folder':
    case 'rename folder':
      return [];
    case 'upload':
    case 'restore':
    case 'restore version':
      return [anyOf(numberOf(of.path), files[of.path] ?? [], { isNew: false })];
    case 'copy':
      return [anyOf(numberOf(of.to), files[of.to] ?? [], { isNew: false })];
    case 'move':
    case 'rename':
      return [anyOf(numberOf(of.to), files[of.to] ?? [], { isNew: true })];
  }
}

/** Writes one of these contents, up to twice, because the store can process a request twice. `isNew`: only to a free path. */
function anyOf(path: number, contents: readonly number[], { isNew }: { readonly isNew: boolean }): Thread {
  return thread([path], (state) => {
    if (isNew && !areAbsent(state, [path])) return [];
    return contents.flatMap((content) => {
      const next = having(state, [[path, content]]);
      return [to(END, next), ...(isNew ? [] : [to(0, next)])];
    });
  });
}

type Transfer = Extract<UndoableOperation, { readonly from: string }>;

const reversed = (of: Transfer): Operation => ({ ...of, from: of.to, to: of.from, replace: false });
