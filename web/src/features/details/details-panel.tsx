import { useEffect } from 'preact/hooks';
import { tellNotLoaded } from '../../model/not-loaded.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguageSignal } from '../../platform/text/language-context.ts';
import { useLoaded } from '../../ui/use-loaded.ts';
import { useDetails, useMessages, useRouter, useSelection } from '../models.ts';

/** All that is known of what is selected; of the folder itself where nothing is. */
export function DetailsPanel() {
  const details = useDetails();
  const router = useRouter();
  const selection = useSelection();
  // The preview has one of its own, since nothing outside of its dialog can be reached.
  if (!details.isOpen.value || router.route.value.preview !== null) return null;
  return <LazyDetails entries={selection.entries.value} />;
}

/** The details of entries. The code loads when the user opens the sheet for the first time. */
export function LazyDetails({ entries }: { entries: readonly Entry[] }) {
  const details = useDetails();
  const messages = useMessages();
  const language = useLanguageSignal();
  const loaded = useLoaded(() => import('./details-sheet.tsx'));
  const close = () => {
    details.isOpen.value = false;
  };
  useEffect(() => {
    if (loaded.state !== 'failed') return;
    close();
    void tellNotLoaded({ messages, language });
  }, [loaded.state]);
  return loaded.state === 'ready' ? <loaded.value.DetailsSheet entries={entries} onClose={close} /> : null;
}
