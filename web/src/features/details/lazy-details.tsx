import { useEffect } from 'preact/hooks';
import { tellNotLoaded } from '../../model/not-loaded.ts';
import { useLoaded } from '../../ui/use-loaded.ts';
import { usePage } from '../page.ts';
import type { Entry } from '../../platform/service/service.ts';
import { completeLanguage } from '../../platform/text/language.ts';

/** The details of entries. The code loads when the user opens the sheet for the first time. */
export function LazyDetails({ entries }: { entries: readonly Entry[] }) {
  const { details, messages, language } = usePage();
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
    void tellNotLoaded({ messages, language });
  }, [loaded.state]);
  return loaded.state === 'ready' ? <loaded.value.DetailsSheet entries={entries} onClose={close} /> : null;
}
