import { reportLoadFailure } from '../../model/messages.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { useLanguageSignal } from '../../platform/text/language-context.ts';
import { useDialogs } from '../../ui/dialog.tsx';
import { useMessages } from '../models.ts';

/** Returns a function that shows the keyboard shortcuts, unless a dialog is open. It never throws. */
export function useShortcutsDialog(): () => void {
  const dialogs = useDialogs();
  const messages = useMessages();
  const language = useLanguageSignal();
  const show = async (): Promise<void> => {
    if (dialogs.shown.value.length > 0) return;
    try {
      const [{ openShortcuts }] = await Promise.all([import('./shortcuts-dialog.tsx'), completeLanguage(language)]);
      if (dialogs.shown.value.length === 0) await openShortcuts(dialogs);
    } catch {
      await reportLoadFailure({ messages, language }, () => void show());
    }
  };
  return () => void show();
}
