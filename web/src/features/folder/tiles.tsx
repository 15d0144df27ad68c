import { TILE_SIZES } from '../../platform/preferences.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { uniformRows } from '../../ui/virtual-rows.ts';
import { Check, EntryName, MoreButton, SharedBadge, useEntryState } from './entry-parts.tsx';
import type { EntryView, RowProps } from './entry-view.ts';
import { type EntryLayout, type LayoutInput, uniformCells } from './grid-layout.ts';
import { NameField } from './lazy-name-field.ts';
import { Thumbnail, type ThumbnailPriority } from './thumbnail.tsx';
import './tiles.css';

export const TILES: EntryView = { name: 'grid', class: 'grid tiles', layOut: tileLayout, Row: TileRow, overscan: 1 };

/** Lengths of tiles in `rem`, which follow the user's text size. */
const TILE = { caption: 4.5, padding: 0.75 };

function tileLayout(entries: readonly Entry[], { width, height, isNarrow, rem, tileSize }: LayoutInput): EntryLayout {
  const count = entries.length;
  const padding = TILE.padding * rem;
  const available = Math.max(0, width - 2 * padding);
  const minWidth = (TILE_SIZES[isNarrow ? tileSize - 1 : tileSize] ?? TILE_SIZES[0]) * rem;
  const columns = Math.max(1, Math.floor(available / minWidth));
  const columnWidth = available / columns;
  // The picture has an aspect ratio of 4:3.
  const rowHeight = Math.round((columnWidth * 3) / 4 + TILE.caption * rem);
  const cells = uniformCells(count, columns);
  return {
    ...cells,
    rows: uniformRows(Math.ceil(count / columns), rowHeight),
    boxOf(index) {
      const [row, column] = [cells.rowOf(index), index % columns];
      const [start, top] = [column * columnWidth, row * rowHeight];
      return { start, end: start + columnWidth, top, bottom: top + rowHeight };
    },
    headerHeight: padding,
    width,
    height,
    padding,
    columnCount: columns,
  };
}

function TileRow({ entries, first, row, layout, start, height, tabStop, thumbnailPriority }: RowProps) {
  const style = {
    transform: `translateY(${start}px)`,
    blockSize: `${height}px`,
    gridTemplateColumns: `repeat(${layout.columnCount}, minmax(0, 1fr))`,
  };
  return (
    <div role="row" class="tile-row" aria-rowindex={row + 1} style={style}>
      {entries.map((entry, column) => (
        <Tile
          key={entry.path}
          entry={entry}
          column={column}
          isTabStop={first + column === tabStop}
          thumbnailPriority={thumbnailPriority}
        />
      ))}
    </div>
  );
}

interface TileProps {
  entry: Entry;
  column: number;
  isTabStop: boolean;
  thumbnailPriority: ThumbnailPriority;
}

function Tile({ entry, column, isTabStop, thumbnailPriority }: TileProps) {
  const { text, formats } = useLanguage();
  const { isRenamed, isSelected, attributes, nameAttributes } = useEntryState(entry, isTabStop);

  const fact = entry.type === 'file' ? formats.size(entry.size) : text.types.folder;

  return (
    <div role="gridcell" aria-colindex={column + 1} {...attributes} class={`${attributes.class} tile`}>
      <div class="sight" {...nameAttributes}>
        <Thumbnail entry={entry} priority={thumbnailPriority} />
      </div>
      <Check entry={entry} isSelected={isSelected} />
      <SharedBadge path={entry.path} />
      <div class="caption">
        {isRenamed ? <NameField entry={entry} /> : <EntryName entry={entry} />}
        <span class="summary numbers">{fact}</span>
      </div>
      <MoreButton name={entry.name} />
    </div>
  );
}
