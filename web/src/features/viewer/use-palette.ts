import { useLanguageSignal } from '../../platform/text/language.ts';
import { useDialogs } from '../../ui/dialogs.tsx';
import { PALETTE_KEYS } from '../../ui/keyboard.ts';
import { useActions } from '../actions/use-actions.ts';
import { withLoaded } from '../actions/with-loaded.ts';
import { useMessages } from '../models.ts';
import type { FileAction } from './culling.ts';
import type { ViewerTool } from './viewer-tools.ts';

/** Returns the tool that opens the command palette above the viewer, with the actions of the shown file. */
export function usePaletteTool(actions: () => readonly FileAction[]): readonly ViewerTool[] {
  const dialogs = useDialogs();
  const messages = useMessages();
  const language = useLanguageSignal();
  const isPermitted = useActions().available('palette') !== undefined;
  const run = () =>
    void withLoaded(
      { messages, language },
      () => import('../palette/palette.tsx'),
      (palette) => dialogs.shown.value.length === 0 && palette.openPalette(dialogs, '', actions),
    );
  return isPermitted ? [{ id: 'palette', keys: PALETTE_KEYS, run }] : [];
}
