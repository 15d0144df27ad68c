import { extensionOf, familyOf } from '../../platform/file-kinds.ts';
import { TILE_SIZES } from '../../platform/preferences.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { Icon } from '../../ui/icon.tsx';
import { uniformRows } from '../../ui/virtual-rows.ts';
import { Badges, Check, EntryName, MoreButton, useEntryState } from './entry-parts.tsx';
import type { EntryView, RowProps } from './entry-view.ts';
import { type Cells, type EntryLayout, type LayoutInput, uniformCells } from './grid-layout.ts';
import { NameField } from './lazy-name-field.ts';
import { EntryIcon, Thumbnail, type ThumbnailPriority } from './thumbnail.tsx';
import { TileName } from './tile-name.tsx';
import './tiles.css';

export const TILES: EntryView = { name: 'grid', class: 'grid tiles', layOut: tileLayout, Row: TileRow, overscan: 1 };

/** Lengths in `rem`, which follow the user's text size. */
const TILE = { caption: 4.625 };
/** The space above the rows, and at their sides. Tiles and chips have as much space around them at their sides. */
const PADDING = { top: 0.75, side: 0.5 };
/** The minimum width of a folder, and its height with the space around it. */
const CHIP = { width: 13, widthIfNarrow: 9, height: 3.25 };
/** `rem` between the folders and the files. */
const SECTION_GAP = 0.75;

/** Lays out folders as rows of chips, and below them files as rows of tiles. */
function tileLayout(entries: readonly Entry[], { width, height, isNarrow, rem, tileSize }: LayoutInput): EntryLayout {
  const padding = PADDING.side * rem;
  const available = Math.max(0, width - 2 * padding);
  const fit = (minWidth: number) => Math.max(1, Math.floor(available / (minWidth * rem)));
  // Folders come first in every order.
  const firstFile = entries.findIndex(({ type }) => type === 'file');
  const folderCount = firstFile < 0 ? entries.length : firstFile;

  const folderColumns = fit(isNarrow ? CHIP.widthIfNarrow : CHIP.width);
  const folders = uniformCells(folderCount, folderColumns);
  const columns = fit(TILE_SIZES[isNarrow ? Math.max(0, tileSize - 1) : tileSize] ?? 0);
  const files = uniformCells(entries.length - folderCount, columns);
  const folderRows = Math.ceil(folderCount / folderColumns);
  const chipRows = uniformRows(folderRows, Math.round(CHIP.height * rem));
  // The picture has an aspect ratio of 4:3.
  const tileRows = uniformRows(
    Math.ceil(files.count / columns),
    Math.round(((available / columns) * 3) / 4 + TILE.caption * rem),
  );
  const filesTop = chipRows.height + (folderRows > 0 && tileRows.count > 0 ? Math.round(SECTION_GAP * rem) : 0);
  const rows = {
    count: folderRows + tileRows.count,
    height: filesTop + tileRows.height,
    topOf: (row: number) => (row < folderRows ? chipRows.topOf(row) : filesTop + tileRows.topOf(row - folderRows)),
    heightOf: (row: number) => (row < folderRows ? chipRows : tileRows).heightOf(row),
    rowAt: (top: number) =>
      top < filesTop
        ? Math.min(chipRows.rowAt(top), Math.max(0, folderRows - 1))
        : folderRows + tileRows.rowAt(top - filesTop),
  };
  const cells: Cells = {
    count: entries.length,
    rowOf: (index) => (index < folderCount ? folders.rowOf(index) : folderRows + files.rowOf(index - folderCount)),
    entriesOf(row) {
      if (row < folderRows) return folders.entriesOf(row);
      const [first, end] = files.entriesOf(row - folderRows);
      return [folderCount + first, folderCount + end];
    },
    middleOf: (index) =>
      index < folderCount
        ? ((index % folderColumns) + 0.5) / folderColumns
        : (((index - folderCount) % columns) + 0.5) / columns,
    isSingleColumn: false,
  };
  return {
    ...cells,
    rows,
    boxOf(index) {
      const cellWidth = available / (index < folderCount ? folderColumns : columns);
      const middle = cells.middleOf(index) * available;
      const row = cells.rowOf(index);
      const top = rows.topOf(row);
      return { start: middle - cellWidth / 2, end: middle + cellWidth / 2, top, bottom: top + rows.heightOf(row) };
    },
    headerHeight: PADDING.top * rem,
    width,
    height,
    padding,
    columnCount: Math.max(columns, folderCount > 0 ? folderColumns : 0),
    columnsOf: (row) => (row < folderRows ? folderColumns : columns),
  };
}

function TileRow({ entries, first, row, layout, start, height, tabStop, thumbnailPriority }: RowProps) {
  const columns = layout.columnsOf?.(row) ?? 1;
  const style = {
    transform: `translateY(${start}px)`,
    blockSize: `${height}px`,
    gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
  };
  const width = (layout.width - 2 * layout.padding) / columns;
  return (
    <div role="row" class="tile-row" aria-rowindex={row + 1} style={style}>
      {entries.map((entry, column) => {
        const props = { entry, column, isTabStop: first + column === tabStop };
        return entry.type === 'folder' ? (
          <Chip key={entry.path} {...props} />
        ) : (
          <Tile key={entry.path} {...props} width={width} thumbnailPriority={thumbnailPriority} />
        );
      })}
    </div>
  );
}

export interface CellProps {
  entry: Entry;
  column: number;
  isTabStop: boolean;
}

/** A folder as one line. */
export function Chip({ entry, column, isTabStop }: CellProps) {
  const { isRenamed, isSelected, attributes, nameAttributes } = useEntryState(entry, isTabStop);
  return (
    <div role="gridcell" aria-colindex={column + 1} {...attributes} class={`${attributes.class} chip`}>
      <Check entry={entry} isSelected={isSelected} />
      <span role="presentation" class="label" {...nameAttributes}>
        <EntryIcon entry={entry} />
        {isRenamed ? <NameField entry={entry} /> : <EntryName entry={entry} />}
      </span>
      <Badges path={entry.path} />
      <MoreButton name={entry.name} />
    </div>
  );
}

interface TileProps extends CellProps {
  /** Pixels. */
  width: number;
  thumbnailPriority: ThumbnailPriority;
}

export function Tile({ entry, column, isTabStop, width, thumbnailPriority }: TileProps) {
  const { formats } = useLanguage();
  const { isRenamed, isSelected, attributes, nameAttributes } = useEntryState(entry, isTabStop);
  return (
    <div role="gridcell" aria-colindex={column + 1} {...attributes} class={`${attributes.class} tile`}>
      <div class="sight" {...nameAttributes}>
        <Thumbnail entry={entry} width={width * window.devicePixelRatio} priority={thumbnailPriority} Fallback={Page} />
      </div>
      <Check entry={entry} isSelected={isSelected} />
      <Badges path={entry.path} />
      <div class="caption">
        {isRenamed ? <NameField entry={entry} /> : <TileName entry={entry} tileWidth={width} />}
        {entry.type === 'file' && <span class="summary numbers">{formats.size(entry.size)}</span>}
      </div>
      <MoreButton name={entry.name} />
    </div>
  );
}

/** The maximum length of an extension on a page. */
const MAX_LABEL = 5;

/** A page with the icon and the extension of a file, in the hue of its family. */
export function Page({ entry }: { entry: Entry }) {
  const family = familyOf(entry);
  const extension = extensionOf(entry.name);
  return (
    <span class={`entry-icon page-drawing ${family}`} aria-hidden="true">
      <span class="glyph">
        <Icon name={family} />
      </span>
      {extension !== '' && extension.length <= MAX_LABEL && <span class="extension">{extension}</span>}
    </span>
  );
}
