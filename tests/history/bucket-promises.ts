import {
  at,
  END,
  having,
  type Program,
  perhaps,
  type State,
  type StepResult,
  type Thread,
  thread,
  to,
} from './program.ts';
import { absent, areAbsent, type Change, only, type Promises, present, uploadAtOnce } from './promises.ts';

/**
 * What is promised of a bucket on a store that supports the conditions of Ceph 16 (docs/reference/stores-s3.md, "Copies and moves"
 * and "Limits"): one object is written or removed in one step, and everything else consists of such steps. With object
 * versions, Ceph ignores conditions on writes.
 */
export function bucketPromises({ isVersioned }: { readonly isVersioned: boolean }): Promises {
  /** Bytes from which on a write may replace what it must not. */
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
      const isLookedFor = !change.replace && change.content >= ignoresConditions(IN_PARTS);
      if (isLookedFor)
        return [thread(change.from, (state) => (areAbsent(state, change.from) ? [to(1, state)] : []), write(END))];
      if (!change.isRepeated) return uploadAtOnce(change);
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
      if (change.does === 'restore' || change.does === 'restore folder') return perhaps(steps());
      // A conflict is found before anything is done. Otherwise, the source was gone or changed meanwhile.
      if (status === 409) return undefined;
      if (change.does === 'upload') return change.isRepeated ? perhaps(this.upload(change)) : undefined;
      const isMove = /move|rename/.test(change.does);
      if (change.does.endsWith(' folder'))
        return change.into.length > 0 ? perhaps(eachFile(change, isMove)) : undefined;
      if (change.into.length === 0) return undefined;
      const begun = perhaps(isMove ? this.move(change) : this.copy(change));
      return status === 404 ? [absent(change.from), ...begun] : begun;
    },
  };
}

/** Bytes from which on a file goes in parts. */
const IN_PARTS = 8 * 2 ** 20;

/** Bytes from which on the copy of a file that may replace nothing goes in parts. */
const COPIED_IN_PARTS = 5 * 2 ** 20;

/** A request that removes, which may be sent again where its answer was lost. */
function removed(
  state: readonly number[],
  path: number,
  { isRepeated, node }: { isRepeated: boolean; node: number },
): StepResult[] {
  const gone = having(state, [[path, 0]]);
  return isRepeated ? [to(END, gone), to(node, gone)] : [to(END, gone)];
}

/**
 * One file of a copy or move: a look at the source, the copy of what was seen, begun anew where the source has changed;
 * for a move a look whether both are the same, and the removal, which the store does whatever is there by then. `isOne`:
 * of a single file, which has to be there and, without `overwrite`, replaces nothing.
 */
const transferOf =
  (isProtected: (content: number) => boolean) =>
  (change: Change, from: number, into: number, { isMove, isOne }: { isMove: boolean; isOne: boolean }): Thread => {
    const { replace, isRepeated, isDone } = change;
    const whenCopied = isMove ? 2 : END;
    // What fails is taken back, where the destination was new.
    const copied = isDone ? whenCopied : 5;
    return thread(
      [from, into],
      (state) => {
        const file = at(state, from);
        const replaced = at(state, into);
        if (file === 0 && isOne) return [];
        if (file === 0)
          return replace && replaced !== 0 ? [to(END, state), to(4, state, [replaced])] : [to(END, state)];
        const goesOn = to(1, state, [file]);
        // The copy that an interrupted operation leaves is taken for the one to make.
        const isThere = replaced === file && (isMove || !isOne);
        return isThere ? [goesOn, to(whenCopied, state, [file])] : [goesOn];
      },
      (state, [remembered = 0]) => {
        if (isOne && !replace && isProtected(remembered) && at(state, into) !== 0)
          return isOne && !isRepeated ? [] : [to(0, state)];
        const next = having(state, [[into, remembered]]);
        const isBegunAnew = !isOne || replace || isRepeated;
        return isBegunAnew
          ? [to(copied, next, [remembered]), to(0, next), to(0, state)]
          : [to(copied, next, [remembered]), to(0, state)];
      },
      (state, [remembered = 0]) => {
        const file = at(state, from);
        if (isOne) return file === remembered ? [to(3, state)] : [];
        return file !== 0 && file === at(state, into) ? [to(3, state)] : [to(END, state)];
      },
      (state) => removed(state, from, { isRepeated, node: 3 }),
      // What only the destination of a folder held goes at the end, unless it changed.
      (state) => [to(END, state), ...removed(state, into, { isRepeated, node: 4 })],
      (state, [remembered = 0]) => {
        const goesOn = to(whenCopied, state, [remembered]);
        return at(state, into) === remembered ? [goesOn, to(END, having(state, [[into, 0]]))] : [goesOn];
      },
    );
  };

/**
 * A file that is restored from the trash: the copy of it, which replaces nothing if the condition is enforced. If the
 * restore fails, it removes the copy.
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
