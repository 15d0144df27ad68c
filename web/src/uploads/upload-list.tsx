import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useVirtualRows } from '../folder/virtual-rows.ts';
import { useLanguage } from '../page.ts';
import type { AllUploads } from './all-uploads.ts';
import type { UploadItem } from './upload-item.ts';
import { UploadRow } from './upload-row.tsx';
import './upload-list.css';

/** Root ems of a row: a name, and two lines of why it failed. */
const ROW = 3.75;

/** The files, in the order in which they were added; those that failed before the others. */
export function UploadList({ all }: { all: AllUploads }) {
  const { text } = useLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const focused = useSignal<number | null>(null);
  const items = useOrdered(all.items.value, all.summary.value.count.failed);
  const rowHeight = ROW * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const kept = focused.value === null ? -1 : items.findIndex(({ id }) => id === focused.value);
  const { rows, height, scrollTo } = useVirtualRows({
    scroller,
    count: items.length,
    rowHeight,
    headerHeight: 0,
    kept,
    overscan: 8,
  });
  useFollowing(all, items, { scroller, scrollTo });

  return (
    <div class="upload-list" ref={scroller}>
      <ul aria-label={text.uploads.list} style={{ blockSize: `${height}px` }}>
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

/** Keeps those in sight that are being sent, and in the end those that failed, unless somebody is at the list. */
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

/** Rows that are shown below the first of those that are being sent. */
const AHEAD = 3;

/** `failed`: how many there are, which changes when any item fails or does so no more. */
function useOrdered(items: readonly UploadItem[], failed: number): readonly UploadItem[] {
  return useMemo(() => {
    if (failed === 0) return items;
    const isFailed = ({ state }: UploadItem) => state.peek() === 'failed';
    return [...items.filter(isFailed), ...items.filter((item) => !isFailed(item))];
  }, [items, failed]);
}
