import { usePage } from '../page.ts';
import { LazyDetails } from './lazy-details.tsx';

/** All that is known of what is selected; of the folder itself where nothing is. */
export function DetailsPanel() {
  const { details, location, selection } = usePage();
  // The preview has one of its own, since nothing outside of its dialog can be reached.
  if (!details.isOpen.value || location.place.value.preview !== null) return null;
  return <LazyDetails entries={selection.entries.value} />;
}
