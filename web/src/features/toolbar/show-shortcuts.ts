import { tellNotLoaded } from '../../model/not-loaded.ts';
import type { Page } from '../page.ts';
import { completeLanguage } from '../../platform/text/language.ts';

/** Shows all that can be done by the keyboard. Does nothing while another dialog is open. Never throws. */
export async function showShortcuts(page: Page): Promise<void> {
  const { dialogs } = page;
  if (dialogs.shown.value.length > 0) return;
  try {
    const [{ openShortcuts }] = await Promise.all([import('./shortcuts-dialog.tsx'), completeLanguage(page.language)]);
    if (dialogs.shown.value.length === 0) await openShortcuts(dialogs);
  } catch {
    await tellNotLoaded(page, () => void showShortcuts(page));
  }
}
