import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { isRightToLeft } from '../../ui/direction.ts';
import { Thumbnail } from '../folder/thumbnail.tsx';
import type { Gallery } from './gallery.ts';
import './filmstrip.css';

/** Pixels from one thumbnail to the next. The style sheet has the size of a thumbnail. */
const STEP = 60;
/** Thumbnails rendered beyond the visible ones, on each side. */
const OVERSCAN = 6;
/** The maximum number of files in the strip. Browsers limit the width of elements. */
const MAX_FILES = 50_000;

interface FilmstripProps {
  gallery: Gallery;
  onShow: (file: FileEntry) => void;
}

/** The files around the shown one, which is in the centre. Only the visible ones have elements. */
export function Filmstrip({ gallery: { files, index, count }, onShow }: FilmstripProps) {
  const { text } = useFullLanguage();
  const scroller = useRef<HTMLElement>(null);
  const first = useFirst(index, count);
  const length = Math.min(MAX_FILES, count - first);
  const current = index - first;
  const range = useVisibleRange(scroller, current);
  useCentred(scroller, current);

  const from = Math.max(0, range.from - OVERSCAN);
  const shown = files.slice(first + from, first + Math.min(length, range.to + OVERSCAN));
  return (
    <nav ref={scroller} class="filmstrip" aria-label={text.previews.filmstrip}>
      <div class="frames" style={{ inlineSize: `${length * STEP}px` }}>
        {shown.map((file, offset) => {
          const position = from + offset;
          const isCurrent = position === current;
          return (
            <button
              key={file.path}
              type="button"
              class="frame"
              style={{ insetInlineStart: `${position * STEP}px` }}
              aria-label={file.name}
              aria-current={isCurrent}
              title={file.name}
              // The arrow keys show the neighbours, wherever the focus is.
              tabIndex={isCurrent ? 0 : -1}
              onClick={() => onShow(file)}
            >
              <Thumbnail entry={file} priority="low" />
            </button>
          );
        })}
      </div>
    </nav>
  );
}

/** Returns the index of the first file in the strip. It changes only when the shown file is near an end of the strip. */
function useFirst(index: number, count: number): number {
  const first = useRef(0);
  const distance = index - first.current;
  const isNearEnd = distance < MAX_FILES / 10 || distance > (MAX_FILES * 9) / 10;
  if (index >= 0 && isNearEnd) first.current = Math.max(0, Math.min(index - MAX_FILES / 2, count - MAX_FILES));
  return first.current;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Returns the range of visible thumbnails; before the first measurement, only the current one. */
function useVisibleRange(scroller: RefObject<HTMLElement | null>, current: number): Range {
  const [range, setRange] = useState<Range>({ from: current, to: current + 1 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => {
      // The centre of the thumbnail with this index is in the centre of the strip.
      const centre = Math.abs(element.scrollLeft) / STEP;
      const half = element.clientWidth / STEP / 2;
      const next = { from: Math.floor(centre - half), to: Math.ceil(centre + half) + 1 };
      setRange((before) => (before.from === next.from && before.to === next.to ? before : next));
    };
    const onWheel = (event: WheelEvent) => {
      if (event.deltaX !== 0 || event.ctrlKey) return;
      event.preventDefault();
      element.scrollLeft += isRightToLeft() ? -event.deltaY : event.deltaY;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    const listening = new AbortController();
    const { signal } = listening;
    element.addEventListener('scroll', measure, { signal, passive: true });
    element.addEventListener('wheel', onWheel, { signal, passive: false });
    return () => {
      observer.disconnect();
      listening.abort();
    };
  }, []);
  return range;
}

/** Moves the shown file to the centre: smoothly to a visible one, otherwise at once. */
function useCentred(scroller: RefObject<HTMLElement | null>, current: number): void {
  const isFirst = useRef(true);
  useEffect(() => {
    const element = scroller.current;
    if (!element || current < 0) return;
    const distance = Math.abs(current * STEP - Math.abs(element.scrollLeft));
    const isMoved = !isFirst.current && distance < element.clientWidth && !REDUCED_MOTION.matches;
    isFirst.current = false;
    const left = isRightToLeft() ? -current * STEP : current * STEP;
    element.scrollTo({ left, behavior: isMoved ? 'smooth' : 'instant' });
  }, [current]);
}

const REDUCED_MOTION = window.matchMedia('(prefers-reduced-motion: reduce)');
