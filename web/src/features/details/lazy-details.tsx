import { useEffect } from 'preact/hooks';
import { tellNotLoaded } from '../../model/not-loaded.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguageSignal } from '../../platform/text/language-context.ts';
import { useLoaded } from '../../ui/use-loaded.ts';
import { useDetails, useMessages } from '../models.ts';

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
