import { useRef } from 'preact/hooks';
import type { View } from '../../platform/preferences.ts';
import { lazyValue } from '../../ui/lazy-value.ts';
import type { EntryView } from './entry-view.ts';
import { listLayout } from './grid-layout.ts';
import { ListRow } from './list.tsx';

const LIST: EntryView = { name: 'list', class: 'list', layOut: listLayout, Row: ListRow, overscan: 8 };

/** The views that load on demand. */
const TILES = lazyValue(async () => (await import('./tiles.tsx')).TILES);
const PHOTOS = lazyValue(async () => (await import('./photos.tsx')).PHOTOS);

/**
 * Returns the view. Until its code is loaded, returns the previous one, or undefined without one. If it can't be
 * loaded, returns the list.
 */
export function useEntryView(wanted: View): EntryView | undefined {
  const tiles = TILES.use(wanted === 'grid');
  const photos = PHOTOS.use(wanted === 'photos');
  const shown = { list: LIST, grid: tiles, photos }[wanted];
  const last = useRef<EntryView | undefined>(undefined);
  last.current = (shown === null ? LIST : shown) ?? last.current;
  return last.current;
}

/** Loads the code of a view in advance. */
export function preloadView(view: View): void {
  if (view === 'grid') TILES.preload();
  else if (view === 'photos') PHOTOS.preload();
}

/** Loads the other views when the browser is idle, so that switching takes no time. */
export function preloadViews(): void {
  TILES.preload();
  PHOTOS.preload();
}
