import type { VNode } from 'preact';
import type { Column } from '../../platform/preferences.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { type Language, useLanguage } from '../../platform/text/language.ts';
import { deferred } from '../../ui/deferred.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useMessages, usePreferences } from '../models.ts';
import type { ListColumns } from './columns.ts';
import { Badges, Check, EntryName, MoreButton, useEntryState } from './entry-parts.tsx';
import type { RowProps } from './entry-view.ts';
import { NameField } from './lazy-name-field.ts';
import { Thumbnail, type ThumbnailPriority } from './thumbnail.tsx';
import { TypeName } from './type-name.tsx';
import './entries.css';

/** Buttons that change the columns. */
const ColumnMenu = deferred(async () => (await import('./column-controls.tsx')).ColumnMenu);
const ColumnResizer = deferred(async () => (await import('./column-controls.tsx')).ColumnResizer);

/** The header of the list, with buttons that sort. */
export function ListHeader({ columns }: { columns: ListColumns }) {
  const preferences = usePreferences();
  const messages = useMessages();
  const { text } = useLanguage();
  const { by, descending } = preferences.order.value;

  const sort = (column: Column) => {
    // Users look for the largest and for the newest files first.
    const isDescending = column === by ? !descending : column === 'size' || column === 'modified';
    preferences.order.value = { by: column, descending: isDescending };
    messages.announce(
      text.folder.sortedBy({ column: text.folder[column], direction: isDescending ? 'descending' : 'other' }),
    );
  };

  return (
    <div role="row" class="list-header" aria-rowindex={1}>
      {columns.shown.map((column) => (
        <div
          key={column}
          role="columnheader"
          class={column}
          aria-sort={column === by ? (descending ? 'descending' : 'ascending') : 'none'}
        >
          <button class="sort" type="button" onClick={() => sort(column)}>
            {text.folder[column]}
            {column === by && <Icon name={descending ? 'chevron-down' : 'chevron-up'} />}
          </button>
          <ColumnResizer column={column} />
        </div>
      ))}
      <div role="columnheader" class="more">
        <span class="visually-hidden">{text.shell.actions}</span>
        <ColumnMenu />
      </div>
    </div>
  );
}

/** One entry of the list. */
export function ListRow({ entries: [entry], first, row, layout, start, height, tabStop, thumbnailPriority }: RowProps) {
  const { columns } = layout;
  if (!entry || !columns) return null;
  const state = { entry, columns, isTabStop: first === tabStop, thumbnailPriority };
  return <EntryRow position={row + 1} start={start} height={height} {...state} />;
}

interface EntryRowProps {
  entry: Entry;
  columns: ListColumns;
  /** The 1-based position among all rows of the grid, including the header. */
  position: number;
  start: number;
  height: number;
  isTabStop: boolean;
  thumbnailPriority: ThumbnailPriority;
}

function EntryRow({ entry, columns, position, start, height, isTabStop, thumbnailPriority }: EntryRowProps) {
  const language = useLanguage();
  const { isSelected, isRenamed, attributes, nameAttributes } = useEntryState(entry, isTabStop);
  const hasSummary = columns.isReduced && entry.type === 'file';
  return (
    <div
      role="row"
      aria-rowindex={position}
      {...attributes}
      style={{ transform: `translateY(${start}px)`, blockSize: `${height}px` }}
    >
      <div role="gridcell" class="name">
        <Check entry={entry} isSelected={isSelected} />
        {/* Without a role, Chromium omits a draggable element from the row's accessible name. */}
        <span role="presentation" class="label" {...nameAttributes}>
          <Thumbnail entry={entry} priority={thumbnailPriority} />
          {isRenamed ? (
            <NameField entry={entry} />
          ) : (
            <span class="words">
              <EntryName entry={entry} />
              {hasSummary && <Summary entry={entry} shown={columns.shown} />}
            </span>
          )}
          <Badges path={entry.path} />
        </span>
      </div>
      {columns.shown.map((column) => column !== 'name' && CELLS[column](entry, language))}
      <div role="gridcell" class="more">
        <MoreButton name={entry.name} />
      </div>
    </div>
  );
}

/** The details for whose columns there is no room. */
function Summary({ entry, shown }: { entry: FileEntry; shown: readonly Column[] }) {
  const { formats } = useLanguage();
  const size = !shown.includes('size') && formats.size(entry.size);
  const time = !shown.includes('modified') && entry.modified !== null && formats.time(new Date(entry.modified));
  return (
    <span class="summary numbers" aria-hidden="true">
      {[size, time].filter(Boolean).join(' · ')}
    </span>
  );
}

/** Folders have neither a size nor a time. The title of a cell is the exact value. */
const CELLS: Readonly<Record<Exclude<Column, 'name'>, (entry: Entry, language: Language) => VNode>> = {
  size: (entry, { formats }) =>
    entry.type === 'folder' ? (
      <div role="gridcell" class="size" />
    ) : (
      <div role="gridcell" class="size numbers" title={formats.exactSize(entry.size)}>
        {formats.size(entry.size)}
      </div>
    ),
  type: (entry, { text }) => (
    <div role="gridcell" class="type" title={entry.type === 'folder' ? undefined : entry.contentType}>
      {entry.type === 'folder' ? text.types.folder : <TypeName entry={entry} />}
    </div>
  ),
  modified(entry, { text, formats }) {
    if (entry.type === 'folder') return <div role="gridcell" class="modified" />;
    const modified = entry.modified === null ? undefined : new Date(entry.modified);
    return (
      <div role="gridcell" class="modified numbers" title={modified && formats.exactTime(modified)}>
        {modified ? formats.time(modified) : text.folder.unknownTime}
      </div>
    );
  },
};
