import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { useVirtualRows } from '../../ui/virtual-rows.ts';
import { whenPicturesLoaded } from '../../ui/when-idle.ts';
import { useFolder, usePreferences } from '../models.ts';
import { useEntryFocus } from './entry-focus.ts';
import type { EntryView } from './entry-view.ts';
import { useLayoutInput } from './grid-layout.ts';
import { ListHeader } from './list.tsx';
import { usePointing } from './pointing.ts';
import { RubberBand, useRubberBand } from './rubber-band.tsx';
import { useCoveredHeight, useScrollAnchoring, useScrollToRevealed } from './scrolling.ts';
import type { ThumbnailPriority } from './thumbnail.tsx';
import { preloadViews, useEntryView } from './views.ts';

interface EntriesProps {
  scroller: RefObject<HTMLDivElement | null>;
}

/** The entries of the folder as list rows or tiles, with the ARIA role of a grid. */
export function Entries({ scroller }: EntriesProps) {
  const view = useEntryView(usePreferences().view.value);
  useEffect(() => whenPicturesLoaded(preloadViews), []);
  return view ? <EntryGrid scroller={scroller} view={view} /> : null;
}

function EntryGrid({ scroller, view }: EntriesProps & { view: EntryView }) {
  const folder = useFolder();
  const preferences = usePreferences();
  const { text } = useLanguage();
  const grid = useRef<HTMLDivElement>(null);

  const entries = folder.entries.value;
  const measured = useLayoutInput(scroller, preferences.density.value);
  const columns = preferences.columns.value;
  const tileSize = preferences.tileSize.value;
  const viewState = view.state?.value;
  const layout = useMemo(
    () => view.layOut(entries, { ...measured, columns, tileSize }),
    [view, entries, measured, columns, tileSize, viewState],
  );
  const { rows, rowOf, headerHeight } = layout;
  const isList = view.name === 'list';
  const headerRows = isList && headerHeight > 0 ? 1 : 0;
  const focused = folder.focused.value;
  const tabStop = focused === null ? 0 : Math.max(0, folder.indexOf(focused));
  const coveredHeight = useCoveredHeight(scroller);
  const virtual = useVirtualRows({
    scroller,
    positions: rows,
    headerHeight,
    coveredHeight,
    pinned: rowOf(tabStop),
    overscan: view.overscan,
  });
  useScrollAnchoring(scroller, virtual, layout);
  const scrollToIndex = (index: number) => virtual.scrollTo(rowOf(index));
  useEntryFocus(grid, layout, scrollToIndex);
  useScrollToRevealed(grid, coveredHeight, scrollToIndex);
  const pointing = usePointing();
  const firstInView = virtual.rows.find(({ isInView }) => isInView)?.index ?? 0;
  const band = useRubberBand(scroller, virtual.position, layout);

  return (
    <div
      ref={grid}
      role="grid"
      class={`entries ${view.class}`}
      style={{ '--columns': layout.columns?.template }}
      aria-label={text.folder.contents({ folder: folderName(folder.path.value, text) })}
      aria-multiselectable="true"
      aria-rowcount={rows.count + headerRows}
      aria-colcount={layout.columnCount}
      {...pointing}
    >
      {view.Loader && <view.Loader entries={entries} first={layout.entriesOf(firstInView)[0]} />}
      {headerRows > 0 && layout.columns && <ListHeader columns={layout.columns} />}
      <div role="rowgroup" class="rows" style={virtual.style}>
        {virtual.rows.map(({ index: row, start, isInView }) => {
          const [first, end] = layout.entriesOf(row);
          const besideView = isList ? 'none' : 'low';
          const thumbnailPriority: ThumbnailPriority = virtual.isScrolling ? 'none' : isInView ? 'auto' : besideView;
          const shown = entries.slice(first, end);
          // Rows of the list keep their elements when entries are added above them.
          return (
            shown[0] && (
              <view.Row
                key={isList ? shown[0].path : row}
                entries={shown}
                first={first}
                row={row + headerRows}
                layout={layout}
                start={start}
                height={rows.heightOf(row)}
                tabStop={tabStop}
                thumbnailPriority={thumbnailPriority}
              />
            )
          );
        })}
        <RubberBand band={band} origin={virtual.position.origin} />
      </div>
    </div>
  );
}
