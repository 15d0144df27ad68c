import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ScrollPosition } from '../../ui/scroll-position.ts';
import { useFolder, useRouter } from '../models.ts';
import type { Arrangement } from './arrangement.ts';

/**
 * Keeps what one looks at in its place: when entries come or go above it, when the view or its width changes, and when
 * one comes back to the folder.
 */
export function useSteadyScroll(
  scroller: RefObject<HTMLElement | null>,
  position: ScrollPosition,
  { columns, rowHeight }: Arrangement,
): void {
  const folder = useFolder();
  const router = useRouter();
  const entries = folder.entries.value;
  const path = folder.path.value;
  const anchor = useRef<{ path: string; offset: number } | null>(null);
  /** Where one was in this folder, until it can be shown: its entries may still be on their way. */
  const sought = useRef<number | null>(null);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    position.top = 0;
    sought.current = router.viewState()?.scrollTop ?? null;
    router.watchViewState(() => ({ scrollTop: position.top, focused: folder.focused.value }));
    const giveUp = () => {
      sought.current = null;
    };
    element.addEventListener('wheel', giveUp, { passive: true });
    element.addEventListener('touchmove', giveUp, { passive: true });
    return () => {
      element.removeEventListener('wheel', giveUp);
      element.removeEventListener('touchmove', giveUp);
    };
  }, [path]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    if (sought.current !== null) {
      position.top = sought.current;
      if (Math.abs(position.top - sought.current) < 1) sought.current = null;
    } else if (anchor.current) {
      const index = folder.indexOf(anchor.current.path);
      if (index >= 0) position.top = Math.floor(index / columns) * rowHeight + anchor.current.offset;
    }
    const remember = () => {
      const row = Math.floor(position.top / rowHeight);
      const first = folder.entries.peek()[row * columns];
      // At the very top one looks at the top, whatever comes to stand there.
      anchor.current = first && position.top > 0 ? { path: first.path, offset: position.top - row * rowHeight } : null;
    };
    remember();
    element.addEventListener('scroll', remember, { passive: true });
    return () => element.removeEventListener('scroll', remember);
  }, [entries, columns, rowHeight]);
}
