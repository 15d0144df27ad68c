import { at, END, having, type Program, perhaps, type StepResult, type Thread, thread, to } from './program.ts';
import { absent, areAbsent, type Change, only, type Promises, uploadAtOnce } from './promises.ts';

/**
 * What is promised of a bucket on a store that keeps to conditions as Ceph 16 does (docs/reference/stores-s3.md, "Copies and moves"
 * and "Limits"): one object is written or removed in one step, and all else is made of such steps.
 */
export const bucket: Promises = {
  listsMoments: false,
  upload(change) {
    const write = (done: number) => (state: readonly number[]) => [
      to(done, having(state, [[only(change.from), change.content]])),
    ];
    // The store passes over conditions on uploads in parts, so that the file is looked for before.
    const isLookedFor = !change.replace && change.content >= IN_PARTS;
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
  refused(change, status) {
    // The conflict with what is there is found before anything is done; else the source was gone or changed on the way.
    if (status === 409) return undefined;
    if (change.does === 'upload') return change.isRepeated ? perhaps(this.upload(change)) : undefined;
    const isMove = /move|rename/.test(change.does);
    if (change.does.endsWith(' folder')) return change.into.length > 0 ? perhaps(eachFile(change, isMove)) : undefined;
    if (change.into.length === 0) return undefined;
    const begun = perhaps(isMove ? this.move(change) : this.copy(change));
    return status === 404 ? [absent(change.from), ...begun] : begun;
  },
};

/** Bytes from which on a file goes in parts. */
const IN_PARTS = 8 * 2 ** 20;

/** Bytes from which on the copy of a file that may replace nothing goes in parts. */
const COPIED_IN_PARTS = 5 * 2 ** 20;

const eachFile = (change: Change, isMove: boolean): Program =>
  change.from.map((path, index) => transfer(change, path, change.into[index] ?? 0, { isMove, isOne: false }));

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
function transfer(
  change: Change,
  from: number,
  into: number,
  { isMove, isOne }: { isMove: boolean; isOne: boolean },
): Thread {
  const { replace, isRepeated, isDone } = change;
  const whenCopied = isMove ? 2 : END;
  // What fails is taken back, where the destination was new.
  const copied = isDone ? whenCopied : 5;
  return thread(
    [from, into],
    (state) => {
      const file = at(state, from);
      const present = at(state, into);
      if (file === 0 && isOne) return [];
      if (file === 0) return replace && present !== 0 ? [to(END, state), to(4, state, [present])] : [to(END, state)];
      const goesOn = to(1, state, [file]);
      // The copy that an interrupted operation leaves is taken for the one to make.
      const isThere = present === file && (isMove || !isOne);
      return isThere ? [goesOn, to(whenCopied, state, [file])] : [goesOn];
    },
    (state, [remembered = 0]) => {
      const isProtected = isOne && !replace && remembered < COPIED_IN_PARTS;
      if (isProtected && at(state, into) !== 0) return isOne && !isRepeated ? [] : [to(0, state)];
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
}
