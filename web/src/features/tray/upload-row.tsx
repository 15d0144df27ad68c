import { IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icons.ts';
import { usePage } from '../page.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { shownName } from '../../platform/text/shown-name.ts';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { itemStatus } from './status-text.ts';
import { canRetry, isUnfinished, type UploadItem, type UploadState } from '../../model/uploads/upload-item.ts';
import type { AllUploads } from '../../model/uploads/upload-model.ts';

interface UploadRowProps {
  all: AllUploads;
  item: UploadItem;
  /** The index, the total count, and the position in pixels. */
  place: { readonly index: number; readonly count: number; readonly top: number; readonly height: number };
  onFocus: () => void;
}

export function UploadRow({ all, item, place, onFocus }: UploadRowProps) {
  const language = useFullLanguage();
  const { text } = language;
  const state = item.state.value;
  const words = itemStatus(item, language);

  return (
    <li
      class={`upload-row ${state}`}
      aria-posinset={place.index + 1}
      aria-setsize={place.count}
      style={{ insetBlockStart: `${place.top}px`, blockSize: `${place.height}px` }}
      onFocusCapture={onFocus}
    >
      <Icon name={ICONS[state] ?? (item.kind === 'folder' ? 'folder' : 'file')} />
      <div class="what">
        <p class="name" dir="auto" title={item.folder + item.name}>
          {shownName(item.name)}
        </p>
        {state === 'sending' && item.size >= LEAST && (
          <ProgressBar label={text.uploads.progressOf({ name: item.name })} part={item.sent.value / item.size} />
        )}
        <p class="how numbers" title={words}>
          {words}
        </p>
      </div>
      <RowAction all={all} item={item} />
    </li>
  );
}

/** Bytes below which a progress bar would disappear too soon to be seen. */
const LEAST = 100_000;

/** Icons of states. Waiting and active items show the icon of their type. */
const ICONS: Partial<Readonly<Record<UploadState, IconName>>> = {
  done: 'check',
  failed: 'warning',
  cancelled: 'close',
  skipped: 'close',
};

function RowAction({ all, item }: { all: AllUploads; item: UploadItem }) {
  const { id, name, state } = item;
  const { rights } = usePage();
  const { text } = useFullLanguage();
  if (isUnfinished(state.value)) {
    return <IconButton icon="close" label={text.uploads.cancel({ name })} onClick={() => all.cancel(id)} />;
  }
  if (state.value === 'done') {
    return (
      <IconButton
        icon="folder"
        label={text.uploads.show({ name: item.storedName.value })}
        onClick={() => all.show(id)}
      />
    );
  }
  if (!canRetry(item, rights)) return null;
  return <IconButton icon="refresh" label={text.uploads.retry({ name })} onClick={() => all.retry(id)} />;
}
