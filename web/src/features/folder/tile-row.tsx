import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { Check, EntryName, MoreButton, SharedBadge, useEntryState } from './entry-parts.tsx';
import { NameField } from './lazy-name-field.ts';
import { Thumbnail, type ThumbnailPriority } from './thumbnail.tsx';
import './entries.css';

interface TileRowProps {
  tiles: readonly Entry[];
  row: number;
  columns: number;
  start: number;
  height: number;
  /** The index of the entry that the Tab key focuses. */
  tabStop: number;
  thumbnailPriority: ThumbnailPriority;
}

export function TileRow({ tiles, row, columns, start, height, tabStop, thumbnailPriority }: TileRowProps) {
  const style = {
    transform: `translateY(${start}px)`,
    blockSize: `${height}px`,
    gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
  };
  return (
    <div role="row" class="tile-row" aria-rowindex={row + 1} style={style}>
      {tiles.map((entry, column) => (
        <Tile
          key={entry.path}
          entry={entry}
          column={column}
          isTabStop={row * columns + column === tabStop}
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
