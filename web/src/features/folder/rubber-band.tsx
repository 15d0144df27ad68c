import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ScrollPosition } from '../../ui/virtual-rows.ts';
import { useFolder, useSelection } from '../models.ts';
import type { Band } from './band-selection.ts';
import type { EntryLayout } from './grid-layout.ts';
import './folder-view.css';

/**
 * Selects the entries inside the rectangle between the press position and the pointer. A press on a draggable part
 * starts no band. Ctrl, ⌘ or Shift extends the selection. The code loads a moment after the first entries.
 */
export function useRubberBand(
  scroller: RefObject<HTMLElement | null>,
  position: ScrollPosition,
  layout: EntryLayout,
): ReadonlySignal<Band | null> {
  const folder = useFolder();
  const selection = useSelection();
  const band = useSignal<Band | null>(null);
  const latest = useRef(layout);
  latest.current = layout;

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const ending = new AbortController();
    const { signal } = ending;
    const options = {
      element,
      band,
      folder,
      selection,
      signal,
      layout: () => ({ ...latest.current, top: position.top }),
    };
    // Without the code, the selection still follows clicks and keys.
    import('./band-selection.ts').then(
      ({ selectByBand }) => signal.aborted || selectByBand(options),
      () => {},
    );
    return () => ending.abort();
  }, []);
  return band;
}

/** Draws the rectangle in an element that starts at `origin` of all rows. */
export function RubberBand({ band, origin }: { band: ReadonlySignal<Band | null>; origin: number }) {
  const shown = band.value;
  if (!shown) return null;
  const style = {
    transform: `translate(${shown.left}px, ${shown.top - origin}px)`,
    inlineSize: `${shown.right - shown.left}px`,
    blockSize: `${shown.bottom - shown.top}px`,
  };
  return <div class="rubber-band" style={style} />;
}
