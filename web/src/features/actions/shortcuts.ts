import { useLayoutEffect } from 'preact/hooks';
import { useLanguageSignal } from '../../platform/text/language.ts';
import { useDialogs } from '../../ui/dialogs.tsx';
import { clearTextSelection, hasTextSelection, isForPage, isKey } from '../../ui/keyboard.ts';
import { useClipboard, useMessages, usePreferences, useSelection } from '../models.ts';
import { useActions } from './actions.ts';
import { withLoaded } from './with-loaded.ts';

/** Runs actions by their keyboard shortcuts, wherever the focus is. */
export function useShortcuts(): void {
  const actions = useActions();
  const selection = useSelection();
  const clipboard = useClipboard();
  const preferences = usePreferences();
  const showShortcuts = useShortcutsDialog();

  /** Returns whether the keys did something. */
  const run = (event: KeyboardEvent): boolean => {
    if (isKey(event, ['Escape'])) {
      // The first Escape clears what was cut, the second one the selection.
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
      showShortcuts();
      return true;
    }
    const action = actions
      .permitted()
      .find((each) => each.id !== 'paste' && isKey(event, each.keys) && each.isAvailable());
    if (!action) return false;
    // The browser copies selected text.
    if ((action.id === 'copy' || action.id === 'cut') && hasTextSelection()) return false;
    // Enter and Space press a button that has the focus.
    if (['Enter', ' '].includes(event.key) && event.target instanceof Element && event.target.closest('button, a'))
      return false;
    action.run();
    return true;
  };

  // In a layout effect, so that it is there for a key that follows at once.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isForPage(event)) return;
      if (run(event)) event.preventDefault();
    };
    // Selecting entries deselects text, as a click elsewhere does.
    const endMarking = selection.paths.subscribe(clearTextSelection);
    document.addEventListener('keydown', onKeyDown);
    return () => {
      endMarking();
      document.removeEventListener('keydown', onKeyDown);
    };
  }, []);
}

/** Returns a function that shows the keyboard shortcuts, unless a dialog is open. It never throws. */
export function useShortcutsDialog(): () => void {
  const dialogs = useDialogs();
  const messages = useMessages();
  const language = useLanguageSignal();
  return () => {
    if (dialogs.shown.value.length > 0) return;
    void withLoaded(
      { messages, language },
      () => import('./shortcuts-dialog.tsx'),
      ({ openShortcuts }) => dialogs.shown.value.length === 0 && openShortcuts(dialogs),
    );
  };
}
