import { useEffect } from 'preact/hooks';
import { type Page, usePage } from '../page.ts';
import { showShortcuts } from '../shell/shortcuts-dialog.tsx';
import { actionsOf, paste } from './actions.ts';
import { isKey } from './keys.ts';

/** Whether the keys of an event are meant for what it happens in: a field, a dialog, a menu. */
export function isTyping({ target, isComposing }: KeyboardEvent): boolean {
  if (isComposing) return true;
  return (
    target instanceof Element &&
    target.closest('input, textarea, select, [contenteditable], dialog, [popover]') !== null
  );
}

/** The keys of the actions, and those of the page, wherever the focus is. */
export function useShortcuts(): void {
  const page = usePage();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event) || page.dialogs.shown.value.length > 0) return;
      if (runShortcut(event, page)) event.preventDefault();
    };
    // Files of elsewhere come by this event as well; the room of uploads takes them, and prevents the default.
    const onPaste = (event: ClipboardEvent) => {
      const isElsewhere = event.target instanceof Element && event.target.closest('input, textarea, dialog') !== null;
      if (!event.defaultPrevented && !isElsewhere && !page.readOnly) paste(page);
    };
    document.addEventListener('keydown', onKeyDown);
    window.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('keydown', onKeyDown);
      window.removeEventListener('paste', onPaste);
    };
  }, [page]);
}

/** Whether the keys did something. */
function runShortcut(event: KeyboardEvent, page: Page): boolean {
  const { preferences, selection, clipboard } = page;
  if (isKey(event, ['Escape'])) {
    // First what was cut, then what is selected: one step back at a time.
    if (clipboard.clip.value?.kind === 'move') clipboard.clear();
    else selection.clear();
    return true;
  }
  if (preferences.characterKeys.value && isKey(event, ['/'])) {
    const field = document.querySelector<HTMLElement>('input[type="search"]');
    field?.focus();
    return field !== null;
  }
  if (preferences.characterKeys.value && isKey(event, ['?'])) {
    showShortcuts(page);
    return true;
  }
  const action = actionsOf(page).find(({ id, keys }) => id !== 'paste' && isKey(event, keys));
  if (!action?.isAvailable(page)) return false;
  // A button that has the focus is what Enter presses.
  if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('button, a')) return false;
  action.run(page);
  return true;
}
