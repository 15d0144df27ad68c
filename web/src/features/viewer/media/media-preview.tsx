import { useState } from 'preact/hooks';
import { previewKindOf } from '../../../platform/preview-kinds.ts';
import { useFullLanguage } from '../../../platform/text/language.ts';
import { EntryIcon } from '../../folder/thumbnail.tsx';
import { useUrls } from '../../models.ts';
import { contentUrl } from '../content-url.ts';
import { FailedElement } from '../file-notices.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import './media-preview.css';

/** Plays a video or audio file with the browser's controls. The browser requests ranges as needed. */
export function MediaPreview({ entry }: PreviewProps) {
  const urls = useUrls();
  const { text } = useFullLanguage();
  const [isFailed, setFailed] = useState(false);
  if (isFailed) {
    return (
      <FailedElement
        entry={entry}
        reason={text.previews.playbackFailed}
        hint={text.previews.playbackFailedHint}
        onRetry={() => setFailed(false)}
      />
    );
  }

  const Medium = previewKindOf(entry) === 'video' ? 'video' : 'audio';
  return (
    <div class={`media-preview ${Medium}`}>
      {Medium === 'audio' && <EntryIcon entry={entry} />}
      <Medium
        src={contentUrl(urls, entry)}
        aria-label={entry.name}
        controls
        playsInline
        preload="metadata"
        onError={() => setFailed(true)}
        // A finger on the controls seeks. It must not swipe to the next file.
        onPointerDown={(event) => event.stopPropagation()}
      />
    </div>
  );
}
