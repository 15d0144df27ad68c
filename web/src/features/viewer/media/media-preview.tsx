import { useState } from 'preact/hooks';
import { EntryIcon } from '../../folder/entry-icon.tsx';
import { usePage } from '../../page.ts';
import { useFullLanguage } from '../../../platform/text/language-context.ts';
import { FailedElement } from '../failed-element.tsx';
import { previewKindOf } from '../preview-kind.ts';
import type { PreviewProps } from '../viewer-tools.ts';
import './media-preview.css';

/** A video or a sound, with the controls of the browser, which has only what is played of it sent. */
export function MediaPreview({ entry }: PreviewProps) {
  const { urls } = usePage();
  const { text } = useFullLanguage();
  const [isFailed, setFailed] = useState(false);
  if (isFailed) {
    return (
      <FailedElement
        entry={entry}
        reason={text.previews.unplayable}
        hint={text.previews.unplayableHint}
        onRetry={() => setFailed(false)}
      />
    );
  }

  const Medium = previewKindOf(entry) === 'video' ? 'video' : 'audio';
  return (
    <div class={`media ${Medium}`}>
      {Medium === 'audio' && <EntryIcon entry={entry} />}
      <Medium
        src={urls.file(entry.path)}
        aria-label={entry.name}
        controls
        playsInline
        preload="metadata"
        onError={() => setFailed(true)}
        // A finger on the controls seeks, and does not swipe.
        onPointerDown={(event) => event.stopPropagation()}
      />
    </div>
  );
}
