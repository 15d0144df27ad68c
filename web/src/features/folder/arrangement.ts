import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { Density, View } from '../../platform/preferences.ts';
import { NARROW, useMedia } from '../../ui/media.ts';

/** The layout of the entries as rows and columns. All lengths are in pixels. */
export interface Arrangement {
  readonly columns: number;
  readonly columnWidth: number;
  readonly rowHeight: number;
  /** The height above the rows: the header of a list, or the space above tiles. */
  readonly headerHeight: number;
  /** The height of the visible part. */
  readonly height: number;
  /** The space around the tiles, on each side. */
  readonly padding: number;
}

/** Returns the layout of a view in its scroller, and updates it when the scroller's size changes. */
export function useArrangement(view: View, scroller: RefObject<HTMLElement | null>, density: Density): Arrangement {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const isNarrow = useMedia(NARROW);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  return useMemo(
    () => (view === 'list' ? listIn(size, isNarrow) : tilesIn(size, isNarrow)),
    // The style sheet derives the row height from the density.
    [view, size.width, size.height, isNarrow, density],
  );
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** Returns the list layout. Narrow windows have one column and a sort menu, so they need no header. */
function listIn({ width, height }: Size, isNarrow: boolean): Arrangement {
  const rowHeight = Number.parseFloat(styleOfRoot().getPropertyValue('--row')) * pixelsOfRem();
  return { columns: 1, columnWidth: width, rowHeight, headerHeight: isNarrow ? 0 : rowHeight, height, padding: 0 };
}

/** Lengths of tiles in `rem`, which follow the user's text size. */
const TILE = { least: 10.5, leastIfNarrow: 8.5, caption: 4.5, padding: 0.75 };

function tilesIn({ width, height }: Size, isNarrow: boolean): Arrangement {
  const rem = pixelsOfRem();
  const padding = TILE.padding * rem;
  const available = Math.max(0, width - 2 * padding);
  const least = (isNarrow ? TILE.leastIfNarrow : TILE.least) * rem;
  const columns = Math.max(1, Math.floor(available / least));
  const columnWidth = available / columns;
  // The picture has an aspect ratio of 4:3.
  const rowHeight = Math.round((columnWidth * 3) / 4 + TILE.caption * rem);
  return { columns, columnWidth, rowHeight, headerHeight: padding, height, padding };
}

const styleOfRoot = () => getComputedStyle(document.documentElement);
const pixelsOfRem = () => Number.parseFloat(styleOfRoot().fontSize);
