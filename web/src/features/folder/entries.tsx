import type { RefObject } from 'preact';
import { useRef } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { useVirtualRows } from '../../ui/virtual-rows.ts';
import { useFolder, usePreferences } from '../models.ts';
import { useEntryFocus } from './entry-focus.ts';
import { useGridLayout } from './grid-layout.ts';
import { ListHeader, ListRow } from './list.tsx';
import { usePointing } from './pointing.ts';
import { RubberBand, useRubberBand } from './rubber-band.tsx';
import { useCoveredHeight, useScrollAnchoring, useScrollToRevealed } from './scrolling.ts';
import type { ThumbnailPriority } from './thumbnail.tsx';
import { TileRow } from './tile-row.tsx';

/** Rows rendered beyond the visible ones. A row of tiles has many thumbnails, which compete with the visible ones. */
const OVERSCAN = { list: 8, grid: 1 } as const;

/** The entries of the folder as list rows or tiles, with the ARIA role of a grid. */
export function Entries({ scroller }: { scroller: RefObject<HTMLDivElement | null> }) {
  const folder = useFolder();
  const preferences = usePreferences();
  const { text } = useLanguage();
  const grid = useRef<HTMLDivElement>(null);

  const view = preferences.view.value;
  const entries = folder.entries.value;
  const layout = useGridLayout(view, scroller, preferences.density.value);
  const { columns, rowHeight, headerHeight } = layout;
  const headerRows = view === 'list' && headerHeight > 0 ? 1 : 0;
  const focused = folder.focused.value;
  const tabStop = focused === null ? 0 : Math.max(0, folder.indexOf(focused));
  const coveredHeight = useCoveredHeight(scroller);
  const virtual = useVirtualRows({
    scroller,
    count: Math.ceil(entries.length / columns),
    rowHeight,
    headerHeight,
    coveredHeight,
    pinned: Math.floor(tabStop / columns),
    overscan: OVERSCAN[view],
  });
  useScrollAnchoring(scroller, virtual.position, layout);
  const scrollToIndex = (index: number) => virtual.scrollTo(Math.floor(index / columns));
  useEntryFocus(grid, layout, scrollToIndex);
  useScrollToRevealed(grid, coveredHeight, scrollToIndex);
  const pointing = usePointing();
  const band = useRubberBand(scroller, virtual.position, layout);

  return (
    <div
      ref={grid}
      role="grid"
      class={`entries ${view}`}
      aria-label={text.folder.contents({ folder: folderName(folder.path.value, text) })}
      aria-multiselectable="true"
      aria-rowcount={Math.ceil(entries.length / columns) + headerRows}
      {...(view === 'grid' && { 'aria-colcount': columns })}
      {...pointing}
    >
      {headerRows > 0 && <ListHeader />}
      <div role="rowgroup" class="rows" style={virtual.style}>
        {virtual.rows.map(({ index, start, isInView }) => {
          const besideView = view === 'grid' ? 'low' : 'none';
          const thumbnailPriority: ThumbnailPriority = virtual.isScrolling ? 'none' : isInView ? 'auto' : besideView;
          const shared = { start, height: rowHeight, thumbnailPriority };
          if (view === 'grid') {
            const tiles = entries.slice(index * columns, (index + 1) * columns);
            return <TileRow key={index} {...shared} tiles={tiles} row={index} columns={columns} tabStop={tabStop} />;
          }
          const entry = entries[index];
          return (
            entry && (
              <ListRow
                key={entry.path}
                {...shared}
                entry={entry}
                position={index + 1 + headerRows}
                isTabStop={index === tabStop}
              />
            )
          );
        })}
        <RubberBand band={band} origin={virtual.position.origin} />
      </div>
    </div>
  );
}
