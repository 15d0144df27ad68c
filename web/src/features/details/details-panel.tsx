import { useDetails, useRouter, useSelection } from '../models.ts';
import { LazyDetails } from './lazy-details.tsx';

/** All that is known of what is selected; of the folder itself where nothing is. */
export function DetailsPanel() {
  const details = useDetails();
  const router = useRouter();
  const selection = useSelection();
  // The preview has one of its own, since nothing outside of its dialog can be reached.
  if (!details.isOpen.value || router.route.value.preview !== null) return null;
  return <LazyDetails entries={selection.entries.value} />;
}
