import { batch } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { problemOfName } from '../../model/changes/names.ts';
import { parentOf, splitName } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { useChanges, useFolder, useMessages } from '../models.ts';
import './entries.css';

/** How wide the field is, in letters: as wide as the name, within reason. */
const MIN_LETTERS = 20;
const MAX_LETTERS = 60;

/** The name of an entry, to be edited in its place. */
export function NameField({ entry }: { entry: Entry }) {
  const messages = useMessages();
  const changes = useChanges();
  const { text } = useLanguage();
  const input = useRef<HTMLInputElement>(null);
  const problemId = useId();
  const { name, problem } = useDraft(entry);
  useFocusOnStem(input, entry);

  const leave = () =>
    batch(() => {
      changes.renaming.value = null;
      changes.draft.value = null;
    });
  const commit = () => {
    if (changes.renaming.value !== entry.path || problem !== undefined) return;
    leave();
    void changes.rename(entry, name);
  };
  const handleKey = (event: KeyboardEvent) => {
    event.stopPropagation();
    // Enter and Escape are for the input method while it composes.
    if (event.isComposing) return;
    if (event.key === 'Escape') leave();
    else if (event.key === 'Enter' || event.key === 'Tab') commit();
    else return;
    event.preventDefault();
  };
  const handleBlur = () => {
    // Also told when the window as a whole loses the focus, or the row goes out of sight.
    if (changes.renaming.value !== entry.path || document.activeElement === input.current) return;
    if (problem === undefined) return commit();
    leave();
    messages.say({ kind: 'error', text: text.names.notRenamed({ name: entry.name }), detail: problem });
  };

  return (
    <span class="name-field" {...CONTAINED}>
      <input
        ref={input}
        class="text-field"
        type="text"
        size={Math.min(MAX_LETTERS, Math.max(MIN_LETTERS, name.length + 2))}
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

/** What was typed so far, and what is wrong with it. */
function useDraft(entry: Entry): { readonly name: string; readonly problem: string | undefined } {
  const changes = useChanges();
  const folder = useFolder();
  const { text } = useLanguage();
  const parent = parentOf(entry.path);
  const draft = changes.draft.value;
  if (draft?.path !== entry.path) return { name: entry.name, problem: undefined };
  const isTaken = (name: string) =>
    name !== entry.name && [name, `${name}/`].some((end) => folder.entryOf(parent + end) !== undefined);
  const problem = problemOfName(draft.name, { folder: parent, isFolder: entry.type === 'folder', isTaken });
  return { name: draft.name, problem: problem ? text.names.problems[problem] : draft.problem };
}

/** Selects what is mostly changed of a name: not its extension. */
function useFocusOnStem(input: { readonly current: HTMLInputElement | null }, entry: Entry): void {
  useLayoutEffect(() => {
    const field = input.current;
    if (!field) return;
    field.focus({ preventScroll: true });
    field.setSelectionRange(0, entry.type === 'folder' ? field.value.length : splitName(field.value).stem.length);
  }, []);
}

/** What one does in the field is not meant for the row: neither to select it, nor to open or drag it. */
const stop = (event: Event) => event.stopPropagation();
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

/** In front of everything, as rows show nothing beyond their edges; below the field, or above where there is no room. */
function Problem({ id, problem, field }: ProblemProps) {
  const bubble = useRef<HTMLSpanElement>(null);

  useLayoutEffect(() => {
    const { current: element } = bubble;
    const anchor = field.current;
    if (!element || !anchor || problem === undefined) return;
    element.showPopover();
    const place = () => {
      const { left, top, bottom } = anchor.getBoundingClientRect();
      const { offsetWidth, offsetHeight } = element;
      const isAbove = bottom + offsetHeight > window.innerHeight;
      element.style.left = `${Math.max(0, Math.min(left, window.innerWidth - offsetWidth))}px`;
      element.style.top = `${isAbove ? top - offsetHeight : bottom}px`;
    };
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
    <span ref={bubble} id={id} class="name-problem" role="status" popover="manual">
      {problem}
    </span>
  );
}
