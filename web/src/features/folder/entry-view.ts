import type { ReadonlySignal } from '@preact/signals';
import type { FunctionComponent } from 'preact';
import type { View } from '../../platform/preferences.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { EntryLayout, LayoutInput } from './grid-layout.ts';
import type { ThumbnailPriority } from './thumbnail.tsx';

/** A way to show the entries of a folder. */
export interface EntryView {
  readonly name: View;
  /** The classes of the grid. */
  readonly class: string;
  readonly layOut: (entries: readonly Entry[], input: LayoutInput) => EntryLayout;
  readonly Row: FunctionComponent<RowProps>;
  /** What the layout depends on, in addition to its arguments. */
  readonly state?: ReadonlySignal<unknown>;
  /** Loads what the view needs in addition to the entries. Renders nothing. */
  readonly Loader?: FunctionComponent<LoaderProps>;
  /** Rows rendered beyond the visible ones. A row of tiles has many thumbnails, which compete with the visible ones. */
  readonly overscan: number;
}

export interface LoaderProps {
  entries: readonly Entry[];
  /** The index of the first visible entry. */
  first: number;
}

export interface RowProps {
  /** The entries of the row. */
  entries: readonly Entry[];
  /** The index of the first one. */
  first: number;
  row: number;
  layout: EntryLayout;
  /** Pixels from the top of all rows. */
  start: number;
  height: number;
  /** The index of the entry that the Tab key focuses. */
  tabStop: number;
  thumbnailPriority: ThumbnailPriority;
}
