import { useEffect, useState } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { useActions } from '../actions/actions.ts';
import { useFolder, usePermissions } from '../models.ts';
import './folder-view.css';

/** The delay before the placeholder appears: most folders load faster. */
const SKELETON_DELAY_MS = 150;

/** The placeholder of a folder that is loading. */
export function Skeleton() {
  const { text } = useLanguage();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">{text.folder.loading}</span>
      {isShown && Array.from({ length: 12 }, (_, index) => <div key={index} class="bone" />)}
    </div>
  );
}

export function EmptyFolder() {
  const actions = useActions();
  const permissions = usePermissions();
  const { text } = useLanguage();
  const newFolder = actions.available('newFolder');
  const upload = actions.available('upload');
  const canRead = permissions.allows('read');
  if (!upload) {
    return (
      <div class="state" tabIndex={-1}>
        <Drawing />
        <p>{canRead ? text.folder.emptyReadOnly : text.folder.nothingToSee}</p>
      </div>
    );
  }
  return (
    <div class="state">
      <Drawing />
      <p>
        {canRead ? text.folder.empty : text.folder.uploadOnly} <span class="hint">{text.folder.emptyHint}</span>
      </p>
      <div class="buttons">
        <Button icon="upload" kind="primary" onClick={() => upload.run()}>
          {text.actions.upload}
        </Button>
        {newFolder && (
          <Button icon="new-folder" onClick={() => newFolder.run()}>
            {text.actions.newFolder}
          </Button>
        )}
      </div>
    </div>
  );
}

/** An empty bag. */
function Drawing() {
  return (
    <svg class="drawing" viewBox="0 0 120 80" aria-hidden="true">
      <path d="M22 34h76l-6 34a6 6 0 0 1-6 5H34a6 6 0 0 1-6-5z" />
      <path d="M44 34c0-12 6-20 16-20s16 8 16 20" />
      <path class="faint" d="M40 46l2 16M60 46v16M80 46l-2 16" />
      <path class="faint" d="M12 22l6 4M108 22l-6 4M60 2v5" />
    </svg>
  );
}

export function NoMatch() {
  const folder = useFolder();
  const { text } = useLanguage();
  return (
    <div class="state">
      <p>{text.folder.noMatch({ filter: folder.filter.value })}</p>
      <Button
        onClick={() => {
          folder.filter.value = '';
        }}
      >
        {text.shell.clearFilter}
      </Button>
    </div>
  );
}

/** The button that loads the rest of a folder with so many entries that the page does not load all of them by itself. */
export function MoreEntries() {
  const folder = useFolder();
  const { text } = useLanguage();
  if (folder.listing.value !== 'paused') return null;
  return (
    <div class="more-entries" role="status">
      <span>{text.folder.paused({ count: folder.count.value })}</span>
      <Button onClick={() => folder.loadMore()}>{text.folder.showMore}</Button>
    </div>
  );
}
