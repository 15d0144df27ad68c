import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { UploadItem } from '../../model/uploads/upload-item.ts';
import type { AllUploads } from '../../model/uploads/upload-model.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { useVirtualRows } from '../../ui/virtual-rows.ts';
import { UploadRow } from './upload-row.tsx';

/** The height of a row in `rem`: a name, and two lines for the error. */
const ROW = 3.75;

/** The uploads in the order in which they were added; failed ones first. */
export function UploadList({ all }: { all: AllUploads }) {
  const { text } = useFullLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const focused = useSignal<number | null>(null);
  const items = useOrdered(all.items.value, all.summary.value.count.failed);
  const rowHeight = ROW * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const pinned = focused.value === null ? -1 : items.findIndex(({ id }) => id === focused.value);
  const { rows, style, scrollTo } = useVirtualRows({
    scroller,
    count: items.length,
    rowHeight,
    headerHeight: 0,
    pinned,
    overscan: 8,
  });
  useFollowing(all, items, { scroller, scrollTo });

  return (
    <div class="upload-list" ref={scroller}>
      <ul aria-label={text.uploads.list} style={style}>
        {rows.map(({ index, start }) => {
          const item = items[index];
          if (!item) return null;
          return (
            <UploadRow
              key={item.id}
              all={all}
              item={item}
              place={{ index, count: items.length, top: start, height: rowHeight }}
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

/** Scrolls to the items in progress, and at the end to the failed ones, unless the user is using the list. */
function useFollowing(
  all: AllUploads,
  items: readonly UploadItem[],
  { scroller, scrollTo }: { scroller: { readonly current: HTMLElement | null }; scrollTo: (row: number) => void },
): void {
  const summary = all.summary.value;
  useEffect(() => {
    if (scroller.current?.matches(':hover, :focus-within')) return;
    if (!all.isBusy.peek()) {
      if (summary.count.failed > 0) scrollTo(0);
      return;
    }
    const first = items.findIndex(({ state }) => state.peek() === 'sending');
    if (first >= 0) scrollTo(Math.min(first + AHEAD, items.length - 1));
  }, [summary]);
}

/** Rows shown below the first item in progress. */
const AHEAD = 3;

/** Returns the items with failed ones first. `failed` is the number of failed items, which triggers the update. */
function useOrdered(items: readonly UploadItem[], failed: number): readonly UploadItem[] {
  return useMemo(() => {
    if (failed === 0) return items;
    const isFailed = ({ state }: UploadItem) => state.peek() === 'failed';
    return [...items.filter(isFailed), ...items.filter((item) => !isFailed(item))];
  }, [items, failed]);
}
