import { useEffect, useState } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { usePreferences } from '../models.ts';
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
