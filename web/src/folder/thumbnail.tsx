import { useEffect, useState } from 'preact/hooks';
import { usePage } from '../page.ts';
import type { Entry, FileEntry } from '../service/service.ts';
import { EntryIcon } from './entry-icon.tsx';
import './thumbnail.css';

/** Of what the service draws thumbnails, and up to how many bytes. */
const DRAWN = /^image\/(jpeg|png|webp|gif|avif|tiff|svg\+xml)/;
const LIMIT = 50e6;

/** Milliseconds after which a thumbnail that did not come is asked for again: the service may have been busy. */
const RETRIES = [2_000, 6_000];

export function hasThumbnail(entry: Entry): entry is FileEntry {
  return entry.type === 'file' && DRAWN.test(entry.contentType) && entry.size > 0 && entry.size <= LIMIT;
}

/**
 * The thumbnail of an entry where it has one, else its icon. While `isMoving`, no new ones are asked for; nor are those
 * of entries that are still to be made, which have no etag.
 */
export function Thumbnail({ entry, isMoving }: { entry: Entry; isMoving: boolean }) {
  if (!hasThumbnail(entry)) return <EntryIcon entry={entry} />;
  return <Picture key={`${entry.path} ${entry.etag}`} entry={entry} isMoving={isMoving} />;
}

function Picture({ entry, isMoving }: { entry: FileEntry; isMoving: boolean }) {
  const { urls } = usePage();
  const [isWanted, setWanted] = useState(!isMoving);
  const [isLoaded, setLoaded] = useState(false);
  const [failures, setFailures] = useState(0);
  const isGivenUp = failures > RETRIES.length;

  useEffect(() => {
    if (!isMoving) setWanted(true);
  }, [isMoving]);
  const [waits, setWaits] = useState(false);
  useEffect(() => {
    const pause = RETRIES[failures - 1];
    if (pause === undefined) return undefined;
    setWaits(true);
    const timer = setTimeout(() => setWaits(false), pause);
    return () => clearTimeout(timer);
  }, [failures]);

  if (isGivenUp) return <EntryIcon entry={entry} />;
  return (
    <span class={`thumbnail ${isLoaded ? 'loaded' : ''}`}>
      {isWanted && !waits && entry.etag !== '' && (
        <img
          src={urls.thumbnail(entry.path, entry.etag)}
          alt=""
          decoding="async"
          draggable={false}
          onLoad={() => setLoaded(true)}
          onError={() => setFailures(failures + 1)}
        />
      )}
    </span>
  );
}
