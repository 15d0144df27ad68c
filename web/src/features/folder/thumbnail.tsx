import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { familyOf, hasStill, hasThumbnail } from '../../platform/file-kinds.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { PREVIEW_WIDTHS, type PreviewWidth } from '../../platform/service/urls.ts';
import { Icon } from '../../ui/icon.tsx';
import { useAccount, useStills, useUrls } from '../models.ts';
import './entries.css';

/** The icon of an entry's family, in the color of the family. */
export function EntryIcon({ entry }: { entry: Entry }) {
  const family = familyOf(entry);
  return <Icon name={family} class={`entry-icon ${family}`} />;
}

/** The delay before the only retry of a failed thumbnail: the service might have been busy. */
const RETRY_DELAY_MS = 2_000;

/** The priority of a thumbnail request; `none`: not yet, for example while the user scrolls. */
export type ThumbnailPriority = 'auto' | 'low' | 'none';

interface ThumbnailProps<Shown extends Entry> {
  entry: Shown;
  priority?: ThumbnailPriority;
  /** The width of the image in pixels of the screen, if it can be wider than a thumbnail. */
  width?: number;
  /** Whether the whole image is shown instead of its centre. */
  isWhole?: boolean;
  /** What is shown instead of a thumbnail. Default: the icon of the type. */
  Fallback?: FunctionComponent<{ entry: Entry }>;
}

/**
 * The thumbnail of an image, video or PDF, otherwise the icon of the entry's type. An entry that is being created has no ETag and
 * no thumbnail.
 */
export function Thumbnail({
  entry,
  width = 0,
  isWhole = false,
  priority = 'auto',
  Fallback = EntryIcon,
}: ThumbnailProps<Entry>) {
  const urls = useUrls();
  const account = useAccount();
  const stills = useStills();
  if (!hasThumbnail(entry) && !hasStill(entry, stills)) return <Fallback entry={entry} />;
  // After the user signs in, the page requests a denied thumbnail again.
  const signedIn = account?.signInCount.value ?? 0;
  const key = `${signedIn} ${entry.path} ${entry.etag}`;
  const url =
    isWhole || width > THUMBNAIL_WIDTH
      ? urls.preview(entry.path, entry.etag, stepOf(width))
      : urls.thumbnail(entry.path, entry.etag);
  return <Picture key={key} entry={entry} url={url} priority={priority} Fallback={Fallback} />;
}

/** Pixels of a thumbnail. */
const THUMBNAIL_WIDTH = 320;

/** By how much a preview can be enlarged without looking blurred. */
const MAX_ENLARGEMENT = 1.1;

/** Returns the width of the smallest preview that is sharp. */
const stepOf = (width: number): PreviewWidth => PREVIEW_WIDTHS.find((step) => step * MAX_ENLARGEMENT >= width) ?? 2560;

type PictureProps = Required<Omit<ThumbnailProps<FileEntry>, 'width' | 'isWhole'>> & { url: string };

function Picture({ entry, url, priority, Fallback }: PictureProps) {
  const [isRequested, setRequested] = useState(priority !== 'none');
  const [state, setState] = useState<'loading' | 'loaded' | 'failed' | 'unavailable'>('loading');

  useEffect(() => {
    if (priority !== 'none') setRequested(true);
  }, [priority]);
  useEffect(() => (state === 'failed' ? retry(url, setState) : undefined), [state, url]);

  if (state === 'failed' || state === 'unavailable') return <Fallback entry={entry} />;
  return (
    <span class={`thumbnail ${state} ${familyOf(entry)}`}>
      {isRequested && entry.etag !== '' && (
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
function retry(url: string, setState: (state: 'loading' | 'unavailable') => void): () => void {
  const image = new Image();
  const listening = new AbortController();
  image.addEventListener('load', () => setState('loading'), { signal: listening.signal });
  image.addEventListener('error', () => setState('unavailable'), { signal: listening.signal });
  const timer = setTimeout(() => {
    image.src = url;
  }, RETRY_DELAY_MS);
  return () => {
    clearTimeout(timer);
    listening.abort();
  };
}
