import { invertedEffects, isolateHistory } from '@codemirror/commands';
import {
  type EditorState,
  type Extension,
  type Range,
  StateEffect,
  StateField,
  type Text,
  type Transaction,
} from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view';
import type { MergedText } from '../../model/editing/merge.ts';

/** A conflict in the shown text, by positions: first the lines of the user, then those of the other version. */
interface Conflict {
  readonly id: number;
  readonly from: number;
  readonly middle: number;
  readonly to: number;
  /** Whether the conflict ends with the last line of the text, which has no line break. */
  readonly isLast: boolean;
  /** Whether the versions have lines here. An empty last line has no characters. */
  readonly hasMine: boolean;
  readonly hasTheirs: boolean;
}

export type Choice = 'mine' | 'theirs' | 'both';

/** The texts of the controls of a conflict. */
export interface ConflictTexts {
  readonly mine: string;
  readonly theirs: string;
  readonly keep: Readonly<Record<Choice, string>>;
  /** Announces a choice. */
  readonly kept: string;
}

type Mapping = { mapPos(position: number, side?: number): number };

const mapped = (conflict: Conflict, changes: Mapping): Conflict => ({
  ...conflict,
  from: changes.mapPos(conflict.from, -1),
  middle: changes.mapPos(conflict.middle, -1),
  to: changes.mapPos(conflict.to, 1),
});

/** Replaces the version that the text is based on, together with the text. */
export interface Rebase {
  readonly merged: MergedText;
  readonly before: BaseVersion;
  readonly after: BaseVersion;
}

export interface BaseVersion {
  readonly etag: string;
  readonly base: string;
}

const rebased = StateEffect.define<Rebase>();
/** Undoes `rebased`. */
const unbased = StateEffect.define<Rebase>();
const forgotten = StateEffect.define();
const resolved = StateEffect.define<Conflict>({ map: mapped });
/** Undoes `resolved`. */
const reopened = StateEffect.define<Conflict>({ map: mapped });

interface Merge {
  readonly conflicts: readonly Conflict[];
  /** The first positions of lines that come from the other version. */
  readonly incoming: readonly number[];
}

const EMPTY: Merge = { conflicts: [], incoming: [] };

const merge = StateField.define<Merge>({
  create: () => EMPTY,
  update(value, { effects, changes, newDoc }) {
    let { conflicts, incoming } = value;
    if (!changes.empty) {
      conflicts = conflicts.map((conflict) => mapped(conflict, changes));
      incoming = incoming.map((position) => changes.mapPos(position, 1));
    }
    for (const effect of effects) {
      if (effect.is(rebased)) ({ conflicts, incoming } = located(effect.value.merged, newDoc));
      else if (effect.is(unbased) || effect.is(forgotten)) ({ conflicts, incoming } = EMPTY);
      else if (effect.is(resolved)) conflicts = conflicts.filter(({ id }) => id !== effect.value.id);
      else if (effect.is(reopened)) {
        conflicts = [...conflicts, effect.value].toSorted((left, right) => left.from - right.from);
      }
    }
    return { conflicts, incoming };
  },
});

function located({ conflicts, incoming }: MergedText, doc: Text): Merge {
  const startOf = (line: number) => (line < doc.lines ? doc.line(line + 1).from : doc.length);
  return {
    conflicts: conflicts.map(({ from, middle, to }, id) => ({
      id,
      from: startOf(from),
      middle: startOf(middle),
      to: startOf(to),
      isLast: to >= doc.lines,
      hasMine: from < middle,
      hasTheirs: middle < to,
    })),
    incoming: incoming.flatMap(({ from, to }) =>
      Array.from({ length: to - from }, (_, index) => startOf(from + index)),
    ),
  };
}

/** Shows merged text with its conflicts, in place of the whole text. Undo returns to the text and version from before. */
export function showMerged(view: EditorView, rebase: Rebase): void {
  const { length } = view.state.doc;
  const { scrollTop } = view.scrollDOM;
  const { head } = view.state.selection.main;
  view.dispatch({
    changes: { from: 0, to: length, insert: rebase.merged.text },
    effects: rebased.of(rebase),
    selection: { anchor: Math.min(head, rebase.merged.text.length) },
    annotations: isolateHistory.of('full'),
    userEvent: 'input.merge',
  });
  view.scrollDOM.scrollTop = scrollTop;
  if (rebase.merged.conflicts.length > 0) goToNextConflict(view);
}

/** Ends the display of a merge, after it was saved. */
export function forgetMerge(view: EditorView): void {
  view.dispatch({ effects: forgotten.of(null) });
}

/** Returns the version that the text is based on after a transaction; undefined if the transaction does not change it. */
export function baseAfter({ effects }: Transaction): BaseVersion | undefined {
  for (const effect of effects) {
    if (effect.is(rebased)) return effect.value.after;
    if (effect.is(unbased)) return effect.value.before;
  }
  return undefined;
}

/** Returns the number of conflicts that the user has not decided. */
export function countConflicts(state: EditorState): number {
  return state.field(merge).conflicts.length;
}

/** Moves to the next conflict after the cursor, and focuses its first button. */
export function goToNextConflict(view: EditorView): void {
  const { conflicts } = view.state.field(merge);
  const { head } = view.state.selection.main;
  const next = conflicts.find(({ from }) => from > head) ?? conflicts[0];
  if (!next) return;
  view.dispatch({ selection: { anchor: next.from }, effects: EditorView.scrollIntoView(next.from, { y: 'center' }) });
  view.requestMeasure({
    read: () => view.contentDOM.querySelector<HTMLElement>(`[data-conflict="${next.id}"] button`),
    write: (button) => button?.focus({ preventScroll: true }),
  });
}

function choose(view: EditorView, id: number, choice: Choice, kept: string): void {
  const conflict = view.state.field(merge).conflicts.find((each) => each.id === id);
  if (!conflict) return;
  const { from, middle, to, isLast, hasMine, hasTheirs } = conflict;
  const ranges: Readonly<Record<Choice, readonly [number, number]>> = {
    mine: [middle, to],
    theirs: [from, middle],
    both: [from, from],
  };
  const [start, end] = ranges[choice];
  // Without lines after it, the line break before the removed lines goes with them.
  const isAtEnd = isLast && (choice === 'mine' ? hasTheirs : choice === 'theirs' && hasMine && !hasTheirs);
  view.dispatch({
    changes: { from: isAtEnd ? Math.max(0, start - 1) : start, to: end },
    effects: [resolved.of(conflict), EditorView.announce.of(kept)],
    userEvent: 'delete.conflict',
  });
  view.focus();
}

class Header extends WidgetType {
  readonly #id: number;
  readonly #side: 'mine' | 'theirs';
  readonly #texts: ConflictTexts;

  constructor(id: number, side: 'mine' | 'theirs', texts: ConflictTexts) {
    super();
    this.#id = id;
    this.#side = side;
    this.#texts = texts;
  }

  override eq(other: Header): boolean {
    return other.#id === this.#id && other.#side === this.#side && other.#texts === this.#texts;
  }

  override toDOM(view: EditorView): HTMLElement {
    const { mine, theirs, keep, kept } = this.#texts;
    const header = document.createElement('div');
    header.className = `conflict ${this.#side}`;
    const label = header.appendChild(document.createElement('span'));
    label.className = 'label';
    label.textContent = this.#side === 'mine' ? mine : theirs;
    if (this.#side === 'mine') header.dataset['conflict'] = String(this.#id);
    const choices: readonly Choice[] = this.#side === 'mine' ? ['mine', 'both'] : ['theirs'];
    for (const choice of choices) {
      const button = header.appendChild(document.createElement('button'));
      button.type = 'button';
      button.textContent = keep[choice];
      button.addEventListener('click', () => choose(view, this.#id, choice, kept));
    }
    return header;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

const MINE = Decoration.line({ class: 'conflict-mine' });
const THEIRS = Decoration.line({ class: 'conflict-theirs' });
const INCOMING = Decoration.line({ class: 'incoming-line' });

function decorationsOf(state: EditorState, texts: ConflictTexts): DecorationSet {
  const { conflicts, incoming } = state.field(merge);
  const ranges: Range<Decoration>[] = incoming.map((position) => INCOMING.range(state.doc.lineAt(position).from));
  for (const { id, from, middle, to, isLast } of conflicts) {
    const header = (side: 'mine' | 'theirs', position: number) =>
      ranges.push(
        Decoration.widget({ widget: new Header(id, side, texts), block: true, side: side === 'mine' ? -2 : -1 }).range(
          position,
        ),
      );
    const lines = (start: number, end: number, isAtEnd: boolean, decoration: Decoration) => {
      for (let at = start; at < end || (isAtEnd && at === end && start <= end && at === state.doc.length); ) {
        const line = state.doc.lineAt(at);
        ranges.push(decoration.range(line.from));
        if (line.to >= state.doc.length) break;
        at = line.to + 1;
      }
    };
    header('mine', from);
    lines(from, middle, false, MINE);
    header('theirs', middle);
    lines(middle, to, isLast && middle < to, THEIRS);
  }
  return Decoration.set(ranges, true);
}

/** The conflicts of a merge, with controls to choose a version of each. */
export function conflictSupport(texts: ConflictTexts): Extension {
  return [
    merge,
    EditorView.decorations.compute([merge, 'doc'], (state) => decorationsOf(state, texts)),
    invertedEffects.of(({ effects }) =>
      effects.flatMap((effect) => {
        if (effect.is(resolved)) return reopened.of(effect.value);
        if (effect.is(reopened)) return resolved.of(effect.value);
        if (effect.is(rebased)) return unbased.of(effect.value);
        return effect.is(unbased) ? rebased.of(effect.value) : [];
      }),
    ),
  ];
}
