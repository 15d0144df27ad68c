import { useEffect, useState } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useFolder, usePreferences } from '../models.ts';
import './folder-view.css';

/** The delay before the placeholder appears: most folders load faster. */
const SKELETON_DELAY_MS = 150;

/** The placeholder of a folder that is loading. */
export function Skeleton() {
  const { text } = useLanguage();
  const view = usePreferences().view.value;
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={`skeleton of-${view}`} role="status">
      <span class="visually-hidden">{text.folder.loading}</span>
      {isShown && Array.from({ length: 18 }, (_, index) => <div key={index} class="bone" />)}
    </div>
  );
}

/** The button that loads the rest of a folder with so many entries that the page does not load all of them by itself. */
export function MoreEntries() {
  const folder = useFolder();
  const { text } = useLanguage();
  if (folder.listing.value !== 'paused' || folder.state.value !== 'ready') return null;
  return (
    <div class="more-entries" role="status">
      <span>{text.folder.paused({ count: folder.count.value })}</span>
      <Button onClick={() => folder.loadMore()}>{text.folder.showMore}</Button>
    </div>
  );
}
