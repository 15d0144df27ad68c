import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import {
  canResume,
  canRetry,
  isUnfinished,
  type UploadItem,
  type UploadState,
} from '../../model/uploads/upload-item.ts';
import type { UploadModel } from '../../model/uploads/upload-model.ts';
import { itemStatus } from '../../model/uploads/upload-texts.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { uniformRows, useVirtualRows } from '../../ui/virtual-rows.ts';
import { Name } from '../folder/entry-parts.tsx';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { knownEntry } from '../items/known-entry.ts';
import { usePermissions } from '../models.ts';

/** The height of a row: a name, and two lines for the error. */
const ROW_HEIGHT_REM = 3.75;

/** The uploads in the order in which they were added; failed and interrupted ones first. */
export function UploadList({ uploads }: { uploads: UploadModel }) {
  const { text } = useFullLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const focused = useSignal<number | null>(null);
  const { failed, interrupted } = uploads.summary.value.count;
  const items = useOrdered(uploads.items.value, failed + interrupted);
  const rowHeight = ROW_HEIGHT_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const positions = useMemo(() => uniformRows(items.length, rowHeight), [items.length, rowHeight]);
  const pinned = focused.value === null ? -1 : items.findIndex(({ id }) => id === focused.value);
  const { rows, style, scrollTo } = useVirtualRows({
    scroller,
    positions,
    headerHeight: 0,
    pinned,
    overscan: 8,
  });
  useFollowing(uploads, items, { scroller, scrollTo });

  // Focusable, because the rows of some failed uploads have no button, and the list must scroll by the keyboard.
  return (
    <div class="upload-list" ref={scroller} role="group" aria-label={text.uploads.list} tabIndex={0}>
      <ul aria-label={text.uploads.list} style={style}>
        {rows.map(({ index, start }) => {
          const item = items[index];
          if (!item) return null;
          return (
            <UploadRow
              key={item.id}
              uploads={uploads}
              item={item}
              position={{ index, count: items.length, top: start, height: rowHeight }}
              onFocus={() => {
                focused.value = item.id;
              }}
            />
          );
        })}
      </ul>
    </div>
  );
}

/** Returns the items with those first that wait for the user. `waiting` is their number, which triggers the update. */
function useOrdered(items: readonly UploadItem[], waiting: number): readonly UploadItem[] {
  return useMemo(() => {
    if (waiting === 0) return items;
    const isWaiting = ({ state }: UploadItem) => state.peek() === 'failed' || state.peek() === 'interrupted';
    return [...items.filter(isWaiting), ...items.filter((item) => !isWaiting(item))];
  }, [items, waiting]);
}

/** The rows that stay visible below the first item in progress. */
const ROWS_BELOW = 3;

/** Scrolls to the items in progress, and at the end to the failed ones, unless the user is using the list. */
function useFollowing(
  uploads: UploadModel,
  items: readonly UploadItem[],
  { scroller, scrollTo }: { scroller: { readonly current: HTMLElement | null }; scrollTo: (row: number) => void },
): void {
  const summary = uploads.summary.value;
  useEffect(() => {
    if (scroller.current?.matches(':hover, :focus-within')) return;
    if (!uploads.isBusy.peek()) {
      if (summary.count.failed > 0) scrollTo(0);
      return;
    }
    const first = items.findIndex(({ state }) => state.peek() === 'sending');
    if (first >= 0) scrollTo(Math.min(first + ROWS_BELOW, items.length - 1));
  }, [summary]);
}

interface UploadRowProps {
  uploads: UploadModel;
  item: UploadItem;
  /** The index, the total count, and the position and height in pixels. */
  position: { readonly index: number; readonly count: number; readonly top: number; readonly height: number };
  onFocus: () => void;
}

function UploadRow({ uploads, item, position, onFocus }: UploadRowProps) {
  const language = useFullLanguage();
  const { text } = language;
  const state = item.state.value;
  const status = itemStatus(item, language);
  const icon = STATE_ICONS[state];

  return (
    <li
      class={`upload-row ${state}`}
      aria-posinset={position.index + 1}
      aria-setsize={position.count}
      style={{ insetBlockStart: `${position.top}px`, blockSize: `${position.height}px` }}
      onFocusCapture={onFocus}
    >
      {icon ? <Icon name={icon} /> : <EntryIcon entry={entryOf(item)} />}
      <div class="what">
        <p class="name truncated-name" title={item.folder + item.name}>
          <Name of={item.name} />
        </p>
        {(state === 'sending' || (state === 'interrupted' && item.sent.value > 0)) &&
          item.size >= MIN_BYTES_WITH_PROGRESS && (
            <ProgressBar label={text.uploads.progressOf({ name: item.name })} part={item.sent.value / item.size} />
          )}
        <p class="how numbers" title={status}>
          {status}
        </p>
      </div>
      <RowAction uploads={uploads} item={item} />
    </li>
  );
}

/** The size below which a progress bar would disappear too soon to be seen. */
const MIN_BYTES_WITH_PROGRESS = 100_000;

const entryOf = ({ kind, folder, name }: UploadItem) =>
  knownEntry(kind === 'folder' ? { type: 'folder', path: `${folder}${name}/` } : { type: 'file', path: folder + name });

/** Icons of states. Waiting and active items show the icon of their type. */
const STATE_ICONS: Partial<Readonly<Record<UploadState, IconName>>> = {
  done: 'check',
  failed: 'warning',
  cancelled: 'close',
  skipped: 'close',
  interrupted: 'upload',
};

function RowAction({ uploads, item }: { uploads: UploadModel; item: UploadItem }) {
  const { id, name, state } = item;
  const permissions = usePermissions();
  const { text } = useFullLanguage();
  if (isUnfinished(state.value)) {
    return <IconButton icon="close" label={text.uploads.cancel({ name })} onClick={() => uploads.cancel(id)} />;
  }
  if (state.value === 'interrupted') {
    return (
      <>
        {canResume(item) ? (
          <Button label={text.uploads.resumeOf({ name })} onClick={() => uploads.resume(id)}>
            {text.uploads.resume}
          </Button>
        ) : (
          <Button label={text.uploads.chooseOf({ name })} onClick={() => uploads.choose(id)}>
            {text.uploads.choose}
          </Button>
        )}
        <IconButton
          icon="close"
          label={text.uploads.discard({ name })}
          onClick={({ currentTarget }) => {
            uploads.discard(id);
            // The button disappears, and with the last item the list does too.
            if (uploads.items.value.length === 0) focusRegion('list');
            else if (currentTarget instanceof Element) currentTarget.closest<HTMLElement>('.upload-list')?.focus();
          }}
        />
      </>
    );
  }
  if (state.value === 'done') {
    if (!permissions.allowsIn(item.folder, 'read')) return null;
    return (
      <IconButton
        icon="folder"
        label={text.uploads.show({ name: item.storedName.value })}
        onClick={() => uploads.show(id)}
      />
    );
  }
  if (!canRetry(item, permissions)) return null;
  return <IconButton icon="refresh" label={text.uploads.retry({ name })} onClick={() => uploads.retry(id)} />;
}
