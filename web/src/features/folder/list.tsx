import type { VNode } from 'preact';
import { typeLabel } from '../../platform/file-kinds.ts';
import { COLUMNS, type Column } from '../../platform/preferences.ts';
import type { Entry, FileEntry } from '../../platform/service/service.ts';
import { type Language, useLanguage } from '../../platform/text/language.ts';
import { Icon } from '../../ui/icon.tsx';
import { useMessages, usePreferences } from '../models.ts';
import { Check, EntryName, MoreButton, SharedBadge, useEntryState } from './entry-parts.tsx';
import { NameField } from './lazy-name-field.ts';
import { Thumbnail, type ThumbnailPriority } from './thumbnail.tsx';
import './entries.css';

/** The header of the list, with buttons that sort. */
export function ListHeader() {
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
      {COLUMNS.map((column) => (
        <div
          key={column}
          role="columnheader"
          class={column}
          aria-sort={column === by ? (descending ? 'descending' : 'ascending') : 'none'}
        >
          <button type="button" onClick={() => sort(column)}>
            {text.folder[column]}
            {column === by && <Icon name={descending ? 'chevron-down' : 'chevron-up'} />}
          </button>
        </div>
      ))}
      <div role="columnheader" class="more">
        <span class="visually-hidden">{text.shell.actions}</span>
      </div>
    </div>
  );
}

interface ListRowProps {
  entry: Entry;
  /** The 1-based position among all rows of the grid, including the header. */
  position: number;
  /** Pixels from the top of all rows. */
  start: number;
  height: number;
  isTabStop: boolean;
  thumbnailPriority: ThumbnailPriority;
}

/** One entry of the list. */
export function ListRow({ entry, position, start, height, isTabStop, thumbnailPriority }: ListRowProps) {
  const { isSelected, isRenamed, attributes, nameAttributes } = useEntryState(entry, isTabStop);

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
          {isRenamed ? <NameField entry={entry} /> : <NameWithSummary entry={entry} />}
          <SharedBadge path={entry.path} />
        </span>
      </div>
      <OtherCells entry={entry} />
      <div role="gridcell" class="more">
        <MoreButton name={entry.name} />
      </div>
    </div>
  );
}

/** The name, and below it the details whose columns narrow windows hide. */
function NameWithSummary({ entry }: { entry: Entry }) {
  return (
    <span class="words">
      <EntryName entry={entry} />
      {entry.type === 'file' && <Summary entry={entry} />}
    </span>
  );
}

function Summary({ entry }: { entry: FileEntry }) {
  const { formats } = useLanguage();
  const time = entry.modified === null ? '' : ` · ${formats.time(new Date(entry.modified))}`;
  return (
    <span class="summary numbers" aria-hidden="true">
      {formats.size(entry.size)}
      {time}
    </span>
  );
}

/** The cells of all columns except the name. */
function OtherCells({ entry }: { entry: Entry }) {
  const language = useLanguage();
  return <>{COLUMNS.map((column) => column !== 'name' && CELLS[column](entry, language))}</>;
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
      {entry.type === 'folder' ? text.types.folder : typeLabel(entry, text)}
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
