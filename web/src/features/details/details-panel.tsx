import { useEffect } from 'preact/hooks';
import { reportLoadFailure } from '../../model/messages.ts';
import type { Entry } from '../../platform/service/service.ts';
import { completeLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useDetails, useMessages, useRouter, useSelection } from '../models.ts';

/** Shows the details of the selection, or of the folder if nothing is selected. */
export function DetailsPanel() {
  const details = useDetails();
  const router = useRouter();
  const selection = useSelection();
  // The viewer shows the details itself, because elements outside of its modal dialog are inert.
  if (!details.isOpen.value || router.route.value.preview !== null) return null;
  return <LazyDetails entries={selection.entries.value} />;
}

/** The details of entries. The code loads when the user opens the sheet for the first time. */
export function LazyDetails({ entries }: { entries: readonly Entry[] }) {
  const details = useDetails();
  const messages = useMessages();
  const language = useLanguageSignal();
  const loaded = useLoaded(async () => {
    const [{ DetailsSheet }] = await Promise.all([import('./details-sheet.tsx'), completeLanguage(language)]);
    return { DetailsSheet };
  });
  const close = () => {
    details.isOpen.value = false;
  };
  useEffect(() => {
    if (loaded.state !== 'failed') return;
    close();
    void reportLoadFailure({ messages, language });
  }, [loaded.state]);
  return loaded.state === 'ready' ? <loaded.value.DetailsSheet entries={entries} onClose={close} /> : null;
}
