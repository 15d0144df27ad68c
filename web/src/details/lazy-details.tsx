import { useEffect } from 'preact/hooks';
import { useLoaded } from '../controls/use-loaded.ts';
import { useLanguage, usePage } from '../page.ts';
import type { Entry } from '../service/service.ts';

/** The open sheet of details of some entries, of which the code is loaded when it is opened first. */
export function LazyDetails({ entries }: { entries: readonly Entry[] }) {
  const { details, messages } = usePage();
  const { text } = useLanguage();
  const loaded = useLoaded(() => import('./details-sheet.tsx'));
  const close = () => {
    details.isOpen.value = false;
  };
  useEffect(() => {
    if (loaded.state !== 'failed') return;
    close();
    messages.say({ kind: 'error', text: text.details.notLoaded });
  }, [loaded.state]);
  return loaded.state === 'ready' ? <loaded.value.DetailsSheet entries={entries} onClose={close} /> : null;
}
