import { batch } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { findNameProblem, parentOf, splitName } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { takeHeldKeys } from '../../ui/held-keys.ts';
import { isKey, PALETTE_KEYS } from '../../ui/keyboard.ts';
import { placeBeside } from '../../ui/placement.ts';
import { useChanges, useFolder, useMessages } from '../models.ts';
import './entries.css';

/** The minimum and maximum width of the field in characters. */
const MIN_WIDTH = 20;
const MAX_WIDTH = 60;

/** The input field that renames an entry. It replaces the name in the row or tile. */
export function NameField({ entry }: { entry: Entry }) {
  const messages = useMessages();
  const changes = useChanges();
  const { text } = useFullLanguage();
  const input = useRef<HTMLInputElement>(null);
  const problemId = useId();
  const { name, problem } = useDraft(entry);
  useStemSelection(input, entry);

  const close = () =>
    batch(() => {
      changes.renaming.value = null;
      changes.draft.value = null;
    });
  const commit = () => {
    if (changes.renaming.value !== entry.path || problem !== undefined) return;
    close();
    void changes.rename(entry, name);
  };
  const handleKey = (event: KeyboardEvent) => {
    // The palette takes the focus, which ends the edit like a click elsewhere.
    if (isKey(event, PALETTE_KEYS)) return;
    event.stopPropagation();
    // An input method that is composing handles Enter and Escape itself.
    if (event.isComposing) return;
    if (event.key === 'Escape') close();
    else if (event.key === 'Enter' || event.key === 'Tab') commit();
    else return;
    event.preventDefault();
  };
  const handleBlur = () => {
    // The event also fires when the window loses the focus, and when the row is scrolled out of view.
    if (changes.renaming.value !== entry.path || document.activeElement === input.current) return;
    if (problem === undefined) return commit();
    close();
    messages.show({ kind: 'error', text: text.names.notRenamed({ name: entry.name }), detail: problem });
  };

  return (
    <span class="name-field" {...CONTAINED}>
      <input
        ref={input}
        class="text-field"
        type="text"
        size={Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, name.length + 2))}
        dir="auto"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="done"
        value={name}
        aria-label={text.names.rename({ name: entry.name })}
        aria-invalid={problem !== undefined}
        aria-describedby={problemId}
        onInput={({ currentTarget }) => {
          changes.draft.value = { path: entry.path, name: currentTarget.value, problem: undefined };
        }}
        onKeyDown={handleKey}
        onBlur={handleBlur}
      />
      <Problem id={problemId} problem={problem} field={input} />
    </span>
  );
}

/** Returns the name as edited so far, and why it is invalid. */
function useDraft(entry: Entry): { readonly name: string; readonly problem: string | undefined } {
  const changes = useChanges();
  const folder = useFolder();
  const { text } = useFullLanguage();
  const parent = parentOf(entry.path);
  const draft = changes.draft.value;
  if (draft?.path !== entry.path) return { name: entry.name, problem: undefined };
  const isTaken = (name: string) =>
    name !== entry.name && [name, `${name}/`].some((end) => folder.entryOf(parent + end) !== undefined);
  const problem = findNameProblem(draft.name, { folder: parent, isFolder: entry.type === 'folder', isTaken });
  return { name: draft.name, problem: problem ? text.names.problems[problem] : draft.problem };
}

/** Selects the name without its extension, which users rarely change. */
function useStemSelection(input: { readonly current: HTMLInputElement | null }, entry: Entry): void {
  useLayoutEffect(() => {
    const field = input.current;
    if (!field) return;
    const typeHeldKeys = takeHeldKeys();
    field.focus({ preventScroll: true });
    field.setSelectionRange(0, entry.type === 'folder' ? field.value.length : splitName(field.value).stem.length);
    typeHeldKeys();
  }, []);
}

const stop = (event: Event) => event.stopPropagation();

/** Keeps events in the field from selecting, opening or dragging the row. */
const CONTAINED = {
  onPointerDown: stop,
  onMouseDown: stop,
  onClick: stop,
  onDblClick: stop,
  onContextMenu: stop,
  onCopy: stop,
  onCut: stop,
  onPaste: stop,
};

interface ProblemProps {
  id: string;
  problem: string | undefined;
  field: { readonly current: HTMLInputElement | null };
}

/** The error message in a popover, because rows clip their content. */
function Problem({ id, problem, field }: ProblemProps) {
  const popover = useRef<HTMLSpanElement>(null);

  useLayoutEffect(() => {
    const { current: element } = popover;
    const anchor = field.current;
    if (!element || !anchor || problem === undefined) return;
    element.showPopover();
    const place = () => placeBeside(element, anchor.getBoundingClientRect());
    place();
    window.addEventListener('resize', place);
    document.addEventListener('scroll', place, { capture: true, passive: true });
    return () => {
      window.removeEventListener('resize', place);
      document.removeEventListener('scroll', place, { capture: true });
      element.hidePopover();
    };
  }, [problem]);

  return (
    <span ref={popover} id={id} class="name-problem" role="status" popover="manual">
      {problem}
    </span>
  );
}
