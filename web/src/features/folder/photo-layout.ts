import { TILE_SIZES } from '../../platform/preferences.ts';
import type { Entry } from '../../platform/service/service.ts';
import { type Cells, type EntryLayout, type LayoutInput, uniformCells } from './grid-layout.ts';

/** What a row of the view of photos contains. Dates are local, such as `2026-11-01`; empty if they are unknown. */
export interface PhotoRow {
  readonly kind: 'folders' | 'photos' | 'others';
  /** The date of the photos of this row and the next ones, or null if the row continues the row above. */
  readonly header: { readonly date: string; readonly isMonth: boolean } | 'others' | null;
}

export interface PhotoLayout extends EntryLayout {
  readonly photoRow: (row: number) => PhotoRow;
  /** Returns the width of an entry in pixels. */
  readonly widthOf: (index: number) => number;
  /**
   * The width in pixels of a photo with the aspect ratio of most cameras. Photos that are narrower get the same preview, so
   * that it can be requested before their aspect ratio is known.
   */
  readonly typicalWidth: number;
}

export interface PhotoSource {
  /** Returns the width of a photo divided by its height, or undefined for other entries. */
  readonly aspectOf: (entry: Entry) => number | undefined;
  /** Returns the local time of a photo: `2026-11-01T20:41:00`. */
  readonly timeOf: (entry: Entry) => string;
}

/** Lengths in `rem`. */
const PADDING = { top: 0.75, side: 0.5 };
const GAP = 0.25;
const HEADER = 2.5;
const FOLDER = { width: 13, widthIfNarrow: 9, height: 3.25 };
const CAPTION = 4.625;
/** The intended height of photos, as a multiple of the tile size. */
const PHOTO_HEIGHT = { wide: 1.3, narrow: 0.7 };

/** The aspect ratio of most cameras. */
export const TYPICAL_ASPECT = 3 / 2;
/** The narrowest and the widest photo of a row: of others, a part is shown. */
const MIN_ASPECT = 0.45;
const MAX_ASPECT = 3.2;
/** By how much photos can be higher than intended, so that they fill a row. */
const MAX_GROWTH = 1.35;
/** With photos of at most this many months, and on average at least this many photos of a day, each day has a header. */
const MAX_MONTHS_BY_DAY = 2;
const MIN_PHOTOS_OF_DAY = 5;

/**
 * Lays out folders as chips, photos in rows that have their natural aspect ratios and fill the line, and other files as
 * tiles.
 */
export function layOutPhotos(
  entries: readonly Entry[],
  { width, height, isNarrow, rem, tileSize }: LayoutInput,
  { aspectOf, timeOf }: PhotoSource,
): PhotoLayout {
  const padding = PADDING.side * rem;
  const gap = GAP * rem;
  const line = Math.max(1, width - 2 * padding);
  const intended = (TILE_SIZES[tileSize] ?? TILE_SIZES[0]) * rem * PHOTO_HEIGHT[isNarrow ? 'narrow' : 'wide'];
  const aspects = entries.map(aspectOf);
  const firstFile = entries.findIndex(({ type }) => type === 'file');
  const photosStart = firstFile < 0 ? entries.length : firstFile;
  const other = aspects.findIndex((aspect, index) => index >= photosStart && aspect === undefined);
  const photosEnd = other < 0 ? entries.length : other;

  const rows = new Rows();
  const starts = new Float64Array(entries.length);
  const widths = new Float64Array(entries.length);
  const place = (first: number, end: number, widthAt: (index: number) => number, { start = 0, between = 0 }) => {
    for (let index = first; index < end; index++) {
      starts[index] = start;
      widths[index] = widthAt(index);
      start += widthAt(index) + between;
    }
  };
  const addUniform = (
    first: number,
    end: number,
    minWidth: number,
    heightOf: (cell: number) => number,
    kind: 'folders' | 'others',
  ) => {
    const columns = Math.max(1, Math.floor(line / minWidth));
    const cells = uniformCells(end - first, columns);
    for (let row = 0; row * columns < end - first; row++) {
      const [from, to] = cells.entriesOf(row);
      place(first + from, first + to, () => line / columns, {});
      const header = row === 0 && kind === 'others' ? HEADER * rem : 0;
      rows.add({
        first: first + from,
        end: first + to,
        header,
        height: heightOf(line / columns),
        photoRow: { kind, header: header > 0 ? 'others' : null },
      });
    }
  };
  addUniform(
    0,
    photosStart,
    (isNarrow ? FOLDER.widthIfNarrow : FOLDER.width) * rem,
    () => FOLDER.height * rem,
    'folders',
  );

  const dates = entries.slice(photosStart, photosEnd).map((entry) => timeOf(entry).slice(0, 10));
  const months = new Set(dates.map((date) => date.slice(0, 7)));
  const isMonth = months.size > MAX_MONTHS_BY_DAY || dates.length < MIN_PHOTOS_OF_DAY * new Set(dates).size;
  const groupOf = (index: number) => dates[index - photosStart]?.slice(0, isMonth ? 7 : 10) ?? '';
  const aspectAt = (index: number) => Math.max(MIN_ASPECT, Math.min(aspects[index] ?? 1, MAX_ASPECT));
  for (let first = photosStart; first < photosEnd; ) {
    const isNewGroup = first === photosStart || groupOf(first) !== groupOf(first - 1);
    let end = first;
    let sum = 0;
    // Photos begin where the pictures of tiles do.
    const room = () => line - 2 * padding - gap * (end - first - 1);
    while (end < photosEnd && groupOf(end) === groupOf(first) && (end === first || sum * intended < room())) {
      sum += aspectAt(end);
      end++;
    }
    const filling = room() / sum;
    // The last row of a group is not stretched.
    const rowHeight = Math.min(filling, intended * MAX_GROWTH, filling > intended * MAX_GROWTH ? intended : filling);
    place(first, end, (index) => aspectAt(index) * rowHeight, { start: padding, between: gap });
    const header = isNewGroup ? { date: dates[first - photosStart] ?? '', isMonth } : null;
    rows.add({
      first,
      end,
      header: header ? HEADER * rem : 0,
      height: rowHeight + gap,
      photoRow: { kind: 'photos', header },
    });
    first = end;
  }
  addUniform(
    photosEnd,
    entries.length,
    (TILE_SIZES[2] ?? 10) * rem * (isNarrow ? 0.8 : 1),
    (cell) => (cell * 3) / 4 + CAPTION * rem,
    'others',
  );

  const cells: Cells = {
    count: entries.length,
    rowOf: rows.rowOf,
    entriesOf: rows.entriesOf,
    middleOf: (index) => (starts[index] ?? 0) + (widths[index] ?? 0) / 2,
    isSingleColumn: false,
  };
  return {
    ...cells,
    rows,
    boxOf(index) {
      const row = rows.rowOf(index);
      const start = starts[index] ?? 0;
      const top = rows.topOf(row) + rows.headerOf(row);
      return { start, end: start + (widths[index] ?? 0), top, bottom: rows.topOf(row + 1) };
    },
    headerHeight: PADDING.top * rem,
    width,
    height,
    padding,
    columnCount: rows.maxLength,
    photoRow: rows.photoRow,
    widthOf: (index) => widths[index] ?? 0,
    typicalWidth: intended * TYPICAL_ASPECT,
  };
}

interface RowToAdd {
  readonly first: number;
  readonly end: number;
  /** Pixels of the header above the entries. */
  readonly header: number;
  readonly height: number;
  readonly photoRow: PhotoRow;
}

/** Rows of different heights. */
class Rows {
  readonly #rows: RowToAdd[] = [];
  readonly #tops: number[] = [0];
  #maxLength = 1;

  add(row: RowToAdd): void {
    this.#rows.push(row);
    this.#tops.push(this.height + Math.round(row.header + row.height));
    this.#maxLength = Math.max(this.#maxLength, row.end - row.first);
  }

  get count(): number {
    return this.#rows.length;
  }
  get height(): number {
    return this.#tops.at(-1) ?? 0;
  }
  get maxLength(): number {
    return this.#maxLength;
  }
  readonly topOf = (row: number) => this.#tops[Math.min(row, this.count)] ?? 0;
  readonly heightOf = (row: number) => this.topOf(row + 1) - this.topOf(row);
  readonly headerOf = (row: number) => this.#rows[row]?.header ?? 0;
  readonly rowAt = (top: number) => (top < 0 ? -1 : this.#search((row) => this.topOf(row + 1) > top));
  readonly rowOf = (index: number) => this.#search((row) => (this.#rows[row]?.end ?? 0) > index);
  readonly entriesOf = (row: number): readonly [number, number] => {
    const { first = 0, end = 0 } = this.#rows[row] ?? {};
    return [first, end];
  };
  readonly photoRow = (row: number): PhotoRow => this.#rows[row]?.photoRow ?? { kind: 'photos', header: null };

  /** Returns the first row for which a condition holds that also holds for all later ones; `count` without one. */
  #search(holds: (row: number) => boolean): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (holds(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
