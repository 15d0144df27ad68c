import { useEffect, useState } from 'preact/hooks';
import { usePage } from '../page.ts';
import type { Entry, FileEntry } from '../service/service.ts';
import { EntryIcon } from './entry-icon.tsx';
import './thumbnail.css';

/** Of what the service draws thumbnails, and up to how many bytes. */
const DRAWN = /^image\/(jpeg|png|webp|gif|avif|tiff|svg\+xml)/;
const LIMIT = 50e6;

/** Milliseconds after which a thumbnail that did not come is asked for once more: the service may have been busy. */
const PAUSE = 2_000;

export function hasThumbnail(entry: Entry): entry is FileEntry {
  return entry.type === 'file' && DRAWN.test(entry.contentType) && entry.size > 0 && entry.size <= LIMIT;
}

/**
 * The thumbnail of an entry where it has one, else its icon. While `isMoving`, no new ones are asked for; nor are those
 * of entries that are still to be made, which have no etag.
 */
export function Thumbnail({ entry, isMoving }: { entry: Entry; isMoving: boolean }) {
  const { account } = usePage();
  if (!hasThumbnail(entry)) return <EntryIcon entry={entry} />;
  // What was refused before somebody signed in is asked for once more.
  const signedIn = account?.times.value ?? 0;
  return <Picture key={`${signedIn} ${entry.path} ${entry.etag}`} entry={entry} isMoving={isMoving} />;
}

function Picture({ entry, isMoving }: { entry: FileEntry; isMoving: boolean }) {
  const { urls } = usePage();
  const [isWanted, setWanted] = useState(!isMoving);
  const [state, setState] = useState<'asked' | 'loaded' | 'failed' | 'given up'>('asked');
  const url = urls.thumbnail(entry.path, entry.etag);

  useEffect(() => {
    if (!isMoving) setWanted(true);
  }, [isMoving]);
  useEffect(() => (state === 'failed' ? askAgain(url, setState) : undefined), [state, url]);

  if (state === 'failed' || state === 'given up') return <EntryIcon entry={entry} />;
  return (
    <span class={`thumbnail ${state}`}>
      {isWanted && entry.etag !== '' && (
        <img
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

/** Asks for it out of sight, as the icon stays until it is there. Gives what ends that. */
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
