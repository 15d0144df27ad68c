import { bucketPromises } from './bucket-promises.ts';
import type { History, Operation, Outcome, StoreKind } from './history.ts';
import { at, observation, optionally, type Program } from './program.ts';
import { absent, type Change, disk, github, only, type Promises, present } from './promises.ts';
import { refusedUndoProgram, undoProgram } from './undo-programs.ts';

const PROMISES: Readonly<Record<StoreKind, Promises>> = {
  disk,
  bucket: bucketPromises({ isVersioned: false }),
  'versioned-bucket': bucketPromises({ isVersioned: true }),
  github,
};

/** The steps that explain the outcome of an operation, or why no steps can. */
export type Explanation = { readonly program: Program } | { readonly wrong: string };

/** Returns a function that explains each operation by the guarantees of the store. */
export function explainerOf({ store, paths }: Pick<History, 'store' | 'paths'>) {
  const promises = PROMISES[store];
  const numberOf = (path: string): number => {
    const number = paths.indexOf(path);
    if (number < 0) throw new Error(`The history does not have ${path} among its paths.`);
    return number;
  };
  const namesIn = (folder: string) =>
    paths.filter((path) => path.startsWith(folder)).map((path) => path.slice(folder.length));

  const changeOf = (operation: Operation, isRepeated: boolean, isDone: boolean): Change => {
    const change = { does: operation.does, into: [], content: 0, replace: false, isRepeated, isDone };
    switch (operation.does) {
      case 'upload':
        return { ...change, from: [numberOf(operation.path)], content: operation.content, replace: !operation.isNew };
      case 'fetch':
      case 'delete':
        return { ...change, from: [numberOf(operation.path)] };
      case 'restore':
      case 'restore version':
        return {
          ...change,
          from: [numberOf(operation.path)],
          content: operation.content,
          replace: operation.does === 'restore version',
        };
      case 'purge':
      case 'undo':
        return { ...change, from: [] };
      case 'list':
      case 'create folder':
      case 'delete folder':
      case 'restore folder':
        return { ...change, from: namesIn(operation.folder).map((name) => numberOf(operation.folder + name)) };
      case 'copy':
      case 'move':
      case 'rename':
        return {
          ...change,
          from: [numberOf(operation.from)],
          into: [numberOf(operation.to)],
          replace: operation.replace,
        };
      default: {
        const { from, to, replace } = operation;
        const names = namesIn(from).filter((name) => paths.includes(to + name));
        return {
          ...change,
          from: names.map((name) => numberOf(from + name)),
          into: names.map((name) => numberOf(to + name)),
          replace,
        };
      }
    }
  };

  const stepsOf = (change: Change, operation: Operation): Program => {
    if (operation.does === 'restore folder') {
      const files = Object.entries(operation.files).map(([path, content]) => [numberOf(path), content] as const);
      return promises.restoreFolder(change, files);
    }
    switch (change.does) {
      case 'restore version':
        return promises.upload(change);
      case 'restore':
      case 'upload':
      case 'delete':
      case 'copy':
      case 'move':
        return promises[change.does](change);
      case 'rename':
        return promises.move(change);
      case 'delete folder':
        return promises.deleteFolder(change);
      case 'copy folder':
        return promises.copyFolder(change);
      case 'move folder':
      case 'rename folder':
        return promises.moveFolder(change);
      // Empty folders are not checked.
      default:
        return [];
    }
  };

  /** Checks a listing for each file, at one moment if the store guarantees that. */
  const listing = (folder: string, files: Readonly<Record<string, number>>): Explanation => {
    const shown = paths.filter((path) => path.startsWith(folder) && !path.slice(folder.length).includes('/'));
    const stray = Object.keys(files).find((path) => !shown.includes(path));
    if (stray !== undefined) return { wrong: `no operation has named a file "${stray}"` };
    const looks = shown.map((path) => [numberOf(path), files[path] ?? 0] as const);
    if (promises.listsMoments) {
      const all = looks.map(([path]) => path);
      return { program: [observation(all, (state) => looks.every(([path, content]) => at(state, path) === content))] };
    }
    return { program: looks.map(([path, content]) => observation([path], (state) => at(state, path) === content)) };
  };

  const refusal = (change: Change, status: number, steps: () => Program): Explanation => {
    const program = promises.refused(change, status, steps);
    if (program) return { program };
    const isOfFile = !change.does.endsWith(' folder');
    if (/^(?:restore|purge)/.test(change.does) && (status === 404 || status === 409)) {
      return { program: change.does === 'restore' && status === 409 ? [present(change.from)] : [] };
    }
    switch (status) {
      // A folder with a file exists. An empty one may or may not exist.
      case 404:
        if (change.does === 'upload' || change.does === 'create folder') break;
        if (promises.listsMoments || isOfFile) return { program: [absent(change.from)] };
        return { program: change.from.map((path) => absent([path])) };
      case 409:
        if (change.into.length === 0 || change.replace) break;
        return { program: isOfFile ? [present(change.into)] : [] };
      case 412:
        if (change.does === 'upload' && !change.replace) return { program: [present(change.from)] };
        break;
    }
    return { wrong: `a ${status} is not a response to this request` };
  };

  /** Checks that the folder of the new file had no files. */
  const withoutFolder = (operation: Operation): Explanation => {
    const path = operation.does === 'upload' ? operation.path : 'to' in operation ? operation.to : '';
    const folder = path.slice(0, path.slice(0, -1).lastIndexOf('/') + 1);
    if (folder === '') return { wrong: 'the root always exists' };
    const files = namesIn(folder).map((name) => numberOf(folder + name));
    return { program: promises.listsMoments ? [absent(files)] : files.map((file) => absent([file])) };
  };

  return (operation: Operation, outcome: Outcome, isRepeated: boolean): Explanation => {
    const isDone = outcome.is === 'done';
    const change = changeOf(operation, isRepeated, isDone);
    if (operation.does === 'undo') {
      const context = { promises, numberOf, changeOf: (of: Operation) => changeOf(of, isRepeated, isDone) };
      if (isDone || outcome.is === 'unknown') return { program: undoProgram(operation, outcome, context) };
      if (outcome.is === 'refused' && [404, 409].includes(outcome.status)) {
        return { program: refusedUndoProgram(operation, outcome, context) };
      }
    }
    switch (outcome.is) {
      case 'done':
        return { program: stepsOf(change, operation) };
      case 'found': {
        const content = outcome.content ?? 0;
        return { program: [observation(change.from, (state) => at(state, only(change.from)) === content)] };
      }
      case 'listed':
        return listing(operation.does === 'list' ? operation.folder : '', outcome.files ?? {});
      case 'refused':
        return refusal(change, outcome.status, () => stepsOf(change, operation));
      case 'without folder':
        return withoutFolder(operation);
      case 'unknown':
        return { program: optionally(stepsOf(change, operation)) };
      case 'left':
        return { program: [] };
      case 'wrong':
        return { wrong: outcome.why };
    }
  };
}
