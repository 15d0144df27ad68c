import {
  at,
  END,
  having,
  optionally,
  type Program,
  type State,
  type StepResult,
  type Thread,
  thread,
  to,
} from './program.ts';
import { absent, areAbsent, type Change, only, type Promises, present, uploadInOneStep } from './promises.ts';

/**
 * The guarantees of a bucket on a store that supports the conditions of Ceph 16 (docs/reference/stores-s3.md, "Copies and
 * moves" and "Limits"). Writing or removing one object is one step, and every other operation consists of such steps. With
 * object versions, Ceph ignores conditions on writes.
 */
export function bucketPromises({ isVersioned }: { readonly isVersioned: boolean }): Promises {
  /** Minimum bytes of a write that can replace a file although its condition forbids that. */
  const ignoresConditions = (bytes: number) => (isVersioned ? 0 : bytes);
  const isProtected = (content: number) => content < ignoresConditions(COPIED_IN_PARTS);
  const transfer = transferOf(isProtected);
  const eachFile = (change: Change, isMove: boolean): Program =>
    change.from.map((path, index) => transfer(change, path, change.into[index] ?? 0, { isMove, isOne: false }));
  return {
    listsMoments: false,
    upload(change) {
      const write = (done: number) => (state: readonly number[]) => [
        to(done, having(state, [[only(change.from), change.content]])),
      ];
      const isCheckedFirst = !change.replace && change.content >= ignoresConditions(IN_PARTS);
      if (isCheckedFirst)
        return [thread(change.from, (state) => (areAbsent(state, change.from) ? [to(1, state)] : []), write(END))];
      if (!change.isRepeated) return uploadInOneStep(change);
      const steps = (state: readonly number[]) =>
        change.replace || areAbsent(state, change.from) ? [...write(END)(state), ...write(0)(state)] : [];
      return [thread(change.from, steps)];
    },
    delete: ({ from, isRepeated }) => [
      thread(
        from,
        (state) => (areAbsent(state, from) ? [] : [to(1, state)]),
        (state) => removed(state, only(from), { isRepeated, node: 1 }),
      ),
    ],
    copy: (change) => [transfer(change, only(change.from), only(change.into), { isMove: false, isOne: true })],
    move: (change) => [transfer(change, only(change.from), only(change.into), { isMove: true, isOne: true })],
    deleteFolder: ({ from, isRepeated }) =>
      from.map((path) =>
        thread(
          [path],
          (state) => (at(state, path) === 0 ? [to(END, state)] : [to(1, state)]),
          (state) => removed(state, path, { isRepeated, node: 1 }),
        ),
      ),
    copyFolder: (change) => eachFile(change, false),
    moveFolder: (change) => eachFile(change, true),
    restore: (change) => [restored(change, only(change.from), change.content, isProtected(change.content))],
    restoreFolder: (change, files) => files.map(([path, content]) => restored(change, path, content, false)),
    refused(change, status, steps) {
      if (change.does === 'restore' && status === 409 && !change.isRepeated) return [present(change.from)];
      if (change.does === 'restore' || change.does === 'restore folder') return optionally(steps());
      // A conflict is found before the first change. For any other failure, the source was removed or changed meanwhile.
      if (status === 409) return undefined;
      if (change.does === 'upload') return change.isRepeated ? optionally(this.upload(change)) : undefined;
      const isMove = /move|rename/.test(change.does);
      if (change.does.endsWith(' folder'))
        return change.into.length > 0 ? optionally(eachFile(change, isMove)) : undefined;
      if (change.into.length === 0) return undefined;
      const begun = optionally(isMove ? this.move(change) : this.copy(change));
      return status === 404 ? [absent(change.from), ...begun] : begun;
    },
  };
}

/** Minimum bytes of a file that is uploaded in parts. */
const IN_PARTS = 8 * 2 ** 20;

/** Minimum bytes of a file that is copied in parts if the copy must not replace a file. */
const COPIED_IN_PARTS = 5 * 2 ** 20;

/** A request that removes an object. The service may repeat it if its response was lost. */
function removed(
  state: readonly number[],
  path: number,
  { isRepeated, node }: { isRepeated: boolean; node: number },
): StepResult[] {
  const gone = having(state, [[path, 0]]);
  return isRepeated ? [to(END, gone), to(node, gone)] : [to(END, gone)];
}

/**
 * One file of a copy or move: reads the source and copies that content, and repeats that if the source has changed. A
 * move then compares both files and removes the source, whatever its content is at that moment. `isOne`: for a single
 * file, which must exist and, without `overwrite`, replaces no file. A folder that is replaced moves to the trash first, and
 * returns if the operation fails.
 *
 * The thread remembers the content of the source, and the one that it has moved to the trash.
 */
const transferOf =
  (isProtected: (content: number) => boolean) =>
  (change: Change, from: number, into: number, { isMove, isOne }: { isMove: boolean; isOne: boolean }): Thread => {
    const { replace, isRepeated, isDone } = change;
    const whenCopied = isMove ? 2 : END;
    // A failed copy to a new destination is undone.
    const copied = isDone ? whenCopied : 5;
    const restores = (state: State, aside: number): StepResult[] => (aside === 0 ? [] : [to(6, state, [0, aside])]);
    return thread(
      [from, into],
      (state, [, aside = 0]) => {
        const file = at(state, from);
        const replaced = at(state, into);
        if (file === 0 && isOne) return [];
        const movesAway = replace && !isOne && replaced !== 0 ? [to(4, state, [0, isDone ? 0 : replaced])] : [];
        const next = [...movesAway, ...restores(state, aside)];
        if (file === 0) return [to(END, state), ...next];
        next.push(to(1, state, [file, aside]));
        // The copy of an interrupted operation counts as the copy of this one.
        const isThere = replaced === file && (isMove || !isOne);
        return isThere ? [...next, to(whenCopied, state, [file, aside])] : next;
      },
      (state, [remembered = 0, aside = 0]) => {
        if (isOne && !replace && isProtected(remembered) && at(state, into) !== 0)
          return isOne && !isRepeated ? [] : [to(0, state)];
        const next = having(state, [[into, remembered]]);
        const restarts = !isOne || replace || isRepeated;
        const done = to(copied, next, [remembered, aside]);
        const again = to(0, state, [0, aside]);
        return restarts ? [done, to(0, next, [0, aside]), again] : [done, again];
      },
      (state, [remembered = 0]) => {
        const file = at(state, from);
        if (isOne) return file === remembered ? [to(3, state)] : [];
        return file !== 0 && file === at(state, into) ? [to(3, state)] : [to(END, state)];
      },
      (state) => removed(state, from, { isRepeated, node: 3 }),
      // Removes what the destination contains at that moment, even if it changed.
      (state, [, aside = 0]) => {
        const free = having(state, [[into, 0]]);
        return [to(0, free, [0, aside]), ...(isRepeated ? [to(4, free, [0, aside])] : [])];
      },
      (state, [remembered = 0, aside = 0]) => {
        const goesOn = to(whenCopied, state, [remembered, aside]);
        if (at(state, into) !== remembered) return [goesOn];
        const without = having(state, [[into, 0]]);
        return [goesOn, to(END, without), ...restores(without, aside)];
      },
      (state, [, aside = 0]) =>
        isProtected(aside) && at(state, into) !== 0 ? [] : [to(END, having(state, [[into, aside]]))],
    );
  };

/**
 * Restores a file from the trash: copies it, without replacing a file if the store enforces the condition. If the restore
 * fails, it removes the copy.
 */
function restored({ isDone, isRepeated }: Change, path: number, content: number, isProtected: boolean): Thread {
  const isFree = (state: State) => at(state, path) === 0 || at(state, path) === content;
  const write = (state: State): StepResult[] => {
    if (isProtected && !isFree(state)) return [];
    const next = having(state, [[path, content]]);
    return [to(isDone ? END : 2, next), ...(isRepeated ? [to(1, next)] : [])];
  };
  return thread(
    [path],
    (state) => (isFree(state) ? [to(1, state)] : []),
    write,
    (state) => [to(END, at(state, path) === content ? having(state, [[path, 0]]) : state)],
  );
}
