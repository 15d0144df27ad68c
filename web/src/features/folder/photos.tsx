import { useLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { Badges, Check, MoreButton, useEntryState } from './entry-parts.tsx';
import type { EntryView, RowProps } from './entry-view.ts';
import type { EntryLayout } from './grid-layout.ts';
import { NameField } from './lazy-name-field.ts';
import { layOutPhotos, type PhotoLayout, type PhotoRow as RowContents } from './photo-layout.ts';
import { PHOTO_DETAILS, PHOTO_SOURCE, PhotoLoader } from './photo-times.ts';
import { Thumbnail } from './thumbnail.tsx';
import { type CellProps, Chip, Page, Tile } from './tiles.tsx';
import './photos.css';

export const PHOTOS: EntryView = {
  name: 'photos',
  class: 'grid tiles photos',
  layOut: (entries, input) => layOutPhotos(entries, input, PHOTO_SOURCE),
  state: PHOTO_DETAILS,
  Loader: PhotoLoader,
  Row: PhotoRow,
  overscan: 2,
};

function PhotoRow({ entries, first, row, layout, start, height, tabStop, thumbnailPriority }: RowProps) {
  if (!isPhotoLayout(layout)) return null;
  const { photoRow, widthOf, typicalWidth } = layout;
  const { kind, header } = photoRow(row);
  return (
    <div
      role="row"
      class={`photo-row ${kind}`}
      aria-rowindex={row + 1}
      style={{ transform: `translateY(${start}px)`, blockSize: `${height}px` }}
    >
      {header && (
        <div role="rowheader" class="date">
          <Header header={header} />
        </div>
      )}
      <div role="presentation" class="cells">
        {entries.map((entry, column) => {
          const props = { entry, column, isTabStop: first + column === tabStop };
          const width = widthOf(first + column);
          if (kind === 'photos') {
            return (
              <Photo
                key={entry.path}
                {...props}
                width={width}
                previewWidth={Math.max(width, typicalWidth) * window.devicePixelRatio}
                thumbnailPriority={thumbnailPriority}
              />
            );
          }
          return (
            <div key={entry.path} role="presentation" class="cell" style={{ inlineSize: `${width}px` }}>
              {kind === 'folders' ? (
                <Chip {...props} />
              ) : (
                <Tile {...props} width={width} thumbnailPriority={thumbnailPriority} />
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const isPhotoLayout = (layout: EntryLayout): layout is PhotoLayout => 'photoRow' in layout;

/** The month or the day of photos. */
function Header({ header }: { header: NonNullable<RowContents['header']> }) {
  const { text, tag } = useLanguage();
  if (header === 'others') return <>{text.view.otherFiles}</>;
  if (header.date === '') return <>{text.folder.unknownTime}</>;
  const options: Intl.DateTimeFormatOptions = header.isMonth
    ? { month: 'long', year: 'numeric', timeZone: 'UTC' }
    : { dateStyle: 'full', timeZone: 'UTC' };
  return <>{new Intl.DateTimeFormat(tag, options).format(new Date(header.date))}</>;
}

interface PhotoProps extends CellProps {
  /** Pixels. */
  width: number;
  /** The width of the preview in pixels of the screen. */
  previewWidth: number;
  thumbnailPriority: RowProps['thumbnailPriority'];
}

function Photo({ entry, column, isTabStop, width, previewWidth, thumbnailPriority }: PhotoProps) {
  const { isRenamed, isSelected, attributes, nameAttributes } = useEntryState(entry, isTabStop);
  return (
    <div
      role="gridcell"
      aria-colindex={column + 1}
      {...attributes}
      class={`${attributes.class} photo`}
      style={{ inlineSize: `${width}px` }}
      title={entry.name}
    >
      <span class="visually-hidden">{shownName(entry.name)}</span>
      <div class="sight" {...nameAttributes}>
        <Thumbnail entry={entry} width={previewWidth} isWhole priority={thumbnailPriority} Fallback={Page} />
      </div>
      <Check entry={entry} isSelected={isSelected} />
      <Badges path={entry.path} />
      {isRenamed && <NameField entry={entry} />}
      <MoreButton name={entry.name} />
    </div>
  );
}
