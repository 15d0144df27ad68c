import { useEffect } from 'preact/hooks';
import { type Page, usePage } from '../page.ts';
import { showShortcuts } from '../toolbar/show-shortcuts.ts';
import { actionsOf, paste } from './actions.ts';
import { isKey } from '../../ui/keys.ts';
import { isForPage, isTextMarked, unmarkText } from '../../ui/writing.ts';

/** The keys of the actions, and those of the page, wherever the focus is. */
export function useShortcuts(): void {
  const page = usePage();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isForPage(event)) return;
      if (runShortcut(event, page)) event.preventDefault();
    };
    // Files of elsewhere come by this event as well; the room of uploads takes them, and prevents the default.
    const onPaste = (event: ClipboardEvent) => {
      if (!event.defaultPrevented && isForPage(event) && page.rights.may('write')) paste(page);
    };
    // Marked text is given up for entries that are selected after it, as by a click anywhere else.
    const endMarking = page.selection.paths.subscribe(unmarkText);
    document.addEventListener('keydown', onKeyDown);
    window.addEventListener('paste', onPaste);
    return () => {
      endMarking();
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
    void showShortcuts(page);
    return true;
  }
  const action = actionsOf(page).find(({ id, keys }) => id !== 'paste' && isKey(event, keys));
  if (!action?.isAvailable(page)) return false;
  // Marked text is what the browser copies.
  if ((action.id === 'copy' || action.id === 'cut') && isTextMarked()) return false;
  // A button that has the focus is what Enter presses.
  if (event.key === 'Enter' && event.target instanceof Element && event.target.closest('button, a')) return false;
  action.run(page);
  return true;
}
