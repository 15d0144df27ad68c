import type { Operation } from './history.ts';
import {
  at,
  END,
  having,
  type Node,
  observation,
  type Program,
  type State,
  type Thread,
  thread,
  to,
} from './program.ts';

/** A change, by the numbers of its paths. `from` and `into` have the files of a folder in the same order. */
export interface Change {
  readonly does: Operation['does'];
  /** The written or removed file, or all files of the removed folder. */
  readonly from: readonly number[];
  readonly into: readonly number[];
  readonly content: number;
  readonly replace: boolean;
  /** Whether connections to the store were cut meanwhile, so that the service may have repeated a request. */
  readonly isRepeated: boolean;
  /** Whether the response acknowledged it. */
  readonly isDone: boolean;
}

/** The guarantees of a store: the steps of each change, each of which other clients can observe. */
export interface Promises {
  /** Whether a listing shows one moment. Otherwise, each entry shows a moment of its own. */
  readonly listsMoments: boolean;
  readonly upload: Steps;
  readonly delete: Steps;
  readonly copy: Steps;
  readonly move: Steps;
  readonly deleteFolder: Steps;
  readonly copyFolder: Steps;
  readonly moveFolder: Steps;
  /** Restores a file from the trash. */
  readonly restore: Steps;
  /** Restores a folder from the trash, with these contents of its files. */
  restoreFolder(change: Change, files: readonly (readonly [path: number, content: number])[]): Program;
  /** Returns the steps of a change that fails with this status, if it has any. `steps` returns those of a success. */
  refused(change: Change, status: number, steps: () => Program): Program | undefined;
}

type Steps = (change: Change) => Program;

/** Returns the first path. A change of a file always has one. */
export const only = ([path = 0]: readonly number[]): number => path;

export const areAbsent = (state: State, paths: readonly number[]): boolean =>
  paths.every((path) => at(state, path) === 0);

const pathsOf = ({ from, into }: Change): readonly number[] => [...from, ...into];

const pairs = ({ from, into }: Change) => from.map((path, index) => [path, into[index] ?? 0] as const);

/** Returns a state in which the files of `into` have the contents of those of `from`. */
const copied = (state: State, change: Change): State =>
  having(
    state,
    pairs(change).map(([source, copy]) => [copy, at(state, source)]),
  );

const cleared = (state: State, paths: readonly number[]): State =>
  having(
    state,
    paths.map((path) => [path, 0]),
  );

/** Creates or replaces a file in one step. */
export const uploadInOneStep: Steps = ({ from, content, replace }) => [
  thread(from, (state) => (replace || areAbsent(state, from) ? [to(END, having(state, [[only(from), content]]))] : [])),
];

/** Creates a folder with all of its files in one step, if the path is free. */
const restoreFolderInOneStep: Promises['restoreFolder'] = ({ from: paths }, files) => [
  thread(paths, (state) => (areAbsent(state, paths) ? [to(END, having(state, files))] : [])),
];

/** If several requests restore or remove one file of the trash, the later ones remove the name that they gave it. */
const lateRestoreOnDisk: Steps = ({ from, content }) => [
  thread(
    from,
    (state) => [to(END, state), ...(areAbsent(state, from) ? [to(1, having(state, [[only(from), content]]))] : [])],
    (state) => [to(END, at(state, only(from)) === content ? cleared(state, from) : state)],
  ),
];

const deleteInOneStep: Steps = ({ from }) => [
  thread(from, (state) => (areAbsent(state, from) ? [] : [to(END, cleared(state, from))])),
];

const deleteFolderInOneStep: Steps = ({ from }) => [thread(from, (state) => [to(END, cleared(state, from))])];

/** One commit contains a whole change or none of it. A change that must not replace a file requires a free path. */
const inOneCommit =
  (isMove: boolean, isFile: boolean): Steps =>
  (change) => [
    thread(pathsOf(change), (state) => {
      if (isFile && areAbsent(state, change.from)) return [];
      if (!change.replace && !areAbsent(state, change.into)) return [];
      const next = copied(state, change);
      return [to(END, isMove ? cleared(next, change.from) : next)];
    }),
  ];

/** docs/explanation/commits.md: a commit is one step. */
export const github: Promises = {
  listsMoments: true,
  upload: uploadInOneStep,
  delete: deleteInOneStep,
  copy: inOneCommit(false, true),
  move: inOneCommit(true, true),
  deleteFolder: deleteFolderInOneStep,
  copyFolder: inOneCommit(false, false),
  moveFolder: inOneCommit(true, false),
  restore: uploadInOneStep,
  restoreFolder: restoreFolderInOneStep,
  refused: () => undefined,
};

/** Copies the content that the file had when it was opened, and renames the complete copy to its path. */
const copyOnDisk: Steps = ({ from, into, replace }) => [
  thread(
    [...from, ...into],
    (state) => (areAbsent(state, from) ? [] : [to(1, state, [at(state, only(from))])]),
    (state, [remembered = 0]) =>
      replace || areAbsent(state, into) ? [to(END, having(state, [[only(into), remembered]]))] : [],
  ),
];

/**
 * With `overwrite`, one rename replaces the file. Otherwise, the file has both names for a moment. Then the old name is
 * removed. If another client has replaced the file meanwhile, that one is restored, unless the name is taken again
 * (`renameToNew`).
 */
const moveOnDisk: Steps = (change) => {
  const { from: source, into: target, replace } = change;
  const [from, into] = [only(source), only(target)];
  return [
    thread(
      pathsOf(change),
      (state) => {
        const file = at(state, from);
        if (file === 0) return [];
        if (at(state, into) === file) return [to(1, state, [file])];
        const linked = at(state, into) === 0 ? [to(1, copied(state, change), [file])] : [];
        return replace ? [to(END, cleared(copied(state, change), source)), ...linked] : linked;
      },
      (state, [remembered = 0]) => {
        const present = at(state, from);
        if (present === 0) return [];
        const gone = cleared(state, source);
        return [present === remembered ? to(END, gone) : to(2, gone, [present])];
      },
      (state, [taken = 0]) => [to(END, at(state, from) === 0 ? having(state, [[from, taken]]) : state)],
    ),
  ];
};

/** If several requests move one file, the later ones remove the name that they gave it. */
const lateMoveOnDisk: Steps = (change) => [
  thread(
    pathsOf(change),
    (state) => {
      const file = at(state, only(change.from));
      if (file === 0) return [to(END, state)];
      return areAbsent(state, change.into) ? [to(1, copied(state, change), [file])] : [];
    },
    (state, [remembered = 0]) => {
      if (!areAbsent(state, change.from)) return [];
      return [to(END, at(state, only(change.into)) === remembered ? cleared(state, change.into) : state)];
    },
  ),
];

/** Copies the files one by one to a temporary folder, and renames the complete folder to its path. */
const copyFolderOnDisk: Steps = (change) => {
  const unread = -1;
  const read: Node = (state, remembered) => {
    const all = remembered.length > 0 ? remembered : change.from.map(() => unread);
    const next = change.from.flatMap((path, index) =>
      all[index] === unread ? [to(0, state, all.with(index, at(state, path)))] : [],
    );
    if (next.length > 0) return next;
    if (change.replace) return [to(1, cleared(state, change.into), all)];
    return areAbsent(state, change.into) ? placed(state, all) : [];
  };
  const placed: Node = (state, remembered) => [
    to(
      END,
      having(
        state,
        change.into.map((path, index) => [path, remembered[index] ?? 0]),
      ),
    ),
    ...(areAbsent(state, change.into) ? [] : [to(1, cleared(state, change.into), remembered)]),
  ];
  return [thread(pathsOf(change), read, placed)];
};

/** One rename. Existing content of the destination is renamed away first, also if it appears meanwhile. */
const moveFolderOnDisk: Steps = (change) => {
  const { from, into, replace } = change;
  const renameAway: Node = (state) => [to(1, cleared(state, into))];
  const place: Node = (state) => {
    const isFree = areAbsent(state, into);
    if (!replace && !isFree) return [];
    return [to(END, cleared(copied(state, change), from)), ...(isFree ? [] : renameAway(state, []))];
  };
  return [replace ? thread(pathsOf(change), renameAway, place) : thread(pathsOf(change), place)];
};

/**
 * Restores a folder that was renamed away for another one that no longer exists. If its path has new files meanwhile, only
 * the files that are missing there are restored.
 */
const refusedOverFolderOnDisk: Steps = ({ into }) => [
  thread(
    into,
    (state) => {
      const aside = into.map((path) => at(state, path));
      return [to(END, state), to(1, cleared(state, into), aside)];
    },
    (state, remembered) => {
      const missing = into.map((path, index) => [path, at(state, path) || (remembered[index] ?? 0)] as const);
      return [to(END, having(state, missing))];
    },
  ),
];

/** docs/architecture.md, "Disk". */
export const disk: Promises = {
  listsMoments: false,
  upload: uploadInOneStep,
  delete: deleteInOneStep,
  copy: copyOnDisk,
  move: moveOnDisk,
  deleteFolder: deleteFolderInOneStep,
  copyFolder: copyFolderOnDisk,
  moveFolder: moveFolderOnDisk,
  restore: uploadInOneStep,
  restoreFolder: restoreFolderInOneStep,
  refused(change, status) {
    if (status === 404 && change.does === 'restore') return lateRestoreOnDisk(change);
    if (status === 404 && (change.does === 'move' || change.does === 'rename')) return lateMoveOnDisk(change);
    const isOverFolder = change.replace && change.does.endsWith(' folder') && change.into.length > 0;
    return isOverFolder ? refusedOverFolderOnDisk(change) : undefined;
  },
};

/** Checks that the reason of a refusal was true at some moment. */
export const present = (paths: readonly number[]): Thread => observation(paths, (state) => !areAbsent(state, paths));
export const absent = (paths: readonly number[]): Thread => observation(paths, (state) => areAbsent(state, paths));
