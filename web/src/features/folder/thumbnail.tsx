import { useEffect, useState } from 'preact/hooks';
import { hasThumbnail } from '../../platform/file-kinds.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { useAccount, useUrls } from '../models.ts';
import { EntryIcon } from './entry-icon.tsx';
import './thumbnail.css';

/** Milliseconds before the only retry of a failed thumbnail: the service may have been busy. */
const PAUSE = 2_000;

/** The priority of a thumbnail request; `none`: not yet, for example while the user scrolls. */
export type ThumbnailPriority = 'auto' | 'low' | 'none';

interface ThumbnailProps<Shown extends Entry> {
  entry: Shown;
  priority?: ThumbnailPriority;
}

/**
 * The thumbnail of an image, otherwise the icon of the entry's type. An entry that is being created has no ETag and
 * no thumbnail.
 */
export function Thumbnail({ entry, priority = 'auto' }: ThumbnailProps<Entry>) {
  const account = useAccount();
  if (!hasThumbnail(entry)) return <EntryIcon entry={entry} />;
  // After the user signs in, the page requests a denied thumbnail again.
  const signedIn = account?.signInCount.value ?? 0;
  return <Picture key={`${signedIn} ${entry.path} ${entry.etag}`} entry={entry} priority={priority} />;
}

function Picture({ entry, priority = 'auto' }: ThumbnailProps<FileEntry>) {
  const urls = useUrls();
  const [isWanted, setWanted] = useState(priority !== 'none');
  const [state, setState] = useState<'asked' | 'loaded' | 'failed' | 'given up'>('asked');
  const url = urls.thumbnail(entry.path, entry.etag);

  useEffect(() => {
    if (priority !== 'none') setWanted(true);
  }, [priority]);
  useEffect(() => (state === 'failed' ? askAgain(url, setState) : undefined), [state, url]);

  if (state === 'failed' || state === 'given up') return <EntryIcon entry={entry} />;
  return (
    <span class={`thumbnail ${state}`}>
      {isWanted && entry.etag !== '' && (
        <img
          fetchPriority={priority === 'low' ? 'low' : 'auto'}
          src={url}
          alt=""
          decoding="async"
          draggable={false}
          onLoad={() => setState('loaded')}
          onError={() => setState('failed')}
        />
      )}
    </span>
  );
}

/**
 * Requests the thumbnail again in the background; the icon stays until it is loaded. Returns a function that cancels
 * the retry.
 */
function askAgain(url: string, tell: (state: 'asked' | 'given up') => void): () => void {
  const image = new Image();
  const ending = new AbortController();
  image.addEventListener('load', () => tell('asked'), { signal: ending.signal });
  image.addEventListener('error', () => tell('given up'), { signal: ending.signal });
  const timer = setTimeout(() => {
    image.src = url;
  }, PAUSE);
  return () => {
    clearTimeout(timer);
    ending.abort();
  };
}
