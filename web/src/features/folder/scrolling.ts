import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { VirtualRows } from '../../ui/virtual-rows.ts';
import { useFolder, useMessages, useRouter, useSelection } from '../models.ts';
import type { EntryLayout } from './grid-layout.ts';

/**
 * Keeps the first visible entry in place when entries above it are added or removed, and when the layout changes. Restores
 * the scroll position when the user returns to a folder.
 */
export function useScrollAnchoring(
  scroller: RefObject<HTMLElement | null>,
  { position, update }: Pick<VirtualRows, 'position' | 'update'>,
  layout: EntryLayout,
): void {
  const folder = useFolder();
  const router = useRouter();
  const { rows } = layout;
  const entries = folder.entries.value;
  const path = folder.path.value;
  const anchor = useRef<{ path: string; offset: number } | null>(null);
  /** The position to restore. It is out of range until enough entries are loaded. */
  const restored = useRef<number | null>(null);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    position.top = 0;
    restored.current = router.viewState()?.scrollTop ?? null;
    router.watchViewState(() => ({ scrollTop: position.top, focused: folder.focused.value }));
    const cancelRestoring = () => {
      restored.current = null;
    };
    element.addEventListener('wheel', cancelRestoring, { passive: true });
    element.addEventListener('touchmove', cancelRestoring, { passive: true });
    return () => {
      element.removeEventListener('wheel', cancelRestoring);
      element.removeEventListener('touchmove', cancelRestoring);
    };
  }, [path]);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    if (restored.current !== null) {
      position.top = restored.current;
      if (Math.abs(position.top - restored.current) < 1) restored.current = null;
    } else if (anchor.current) {
      const index = folder.indexOf(anchor.current.path);
      if (index >= 0) position.top = rows.topOf(layout.rowOf(index)) + anchor.current.offset;
    }
    update();
    const updateAnchor = () => {
      const row = Math.max(0, Math.min(rows.rowAt(position.top), rows.count - 1));
      const first = folder.entries.peek()[layout.entriesOf(row)[0]];
      // At the very top, new entries above the first one become visible.
      anchor.current = first && position.top > 0 ? { path: first.path, offset: position.top - rows.topOf(row) } : null;
    };
    updateAnchor();
    element.addEventListener('scroll', updateAnchor, { passive: true });
    return () => element.removeEventListener('scroll', updateAnchor);
  }, [entries, layout]);
}

/** Returns the height in pixels that messages cover at the lower edge of the scroller. */
export function useCoveredHeight(scroller: RefObject<HTMLElement | null>): number {
  const covered = useMessages().coveredHeight.value;
  const below = covered > 0 && scroller.current ? scroller.current.getBoundingClientRect().bottom : 0;
  return Math.max(0, below - (window.innerHeight - covered));
}

/** Scrolls to revealed entries, and keeps the focused entry visible above the messages. */
export function useScrollToRevealed(
  grid: RefObject<HTMLElement | null>,
  coveredHeight: number,
  scrollToIndex: (index: number) => void,
): void {
  const folder = useFolder();
  const selection = useSelection();
  const revealed = selection.revealed.value;
  const focused = folder.focused.value;

  useLayoutEffect(() => {
    const [first] = revealed;
    const index = first === undefined ? -1 : folder.indexOf(first);
    if (index >= 0) scrollToIndex(index);
  }, [revealed]);

  const keepClear = (path: string) => {
    const element = grid.current?.querySelector(`[data-path="${CSS.escape(path)}"]`);
    // A row that the user has scrolled out of view stays there.
    if (!element || element.getBoundingClientRect().top >= window.innerHeight) return;
    const { bottom } = element.getBoundingClientRect();
    const edge = (grid.current?.closest('[data-scroller]')?.getBoundingClientRect().bottom ?? 0) - coveredHeight;
    if (bottom > edge) scrollToIndex(folder.indexOf(path));
  };

  useLayoutEffect(() => {
    if (coveredHeight > 0 && focused !== null) keepClear(focused);
  }, [coveredHeight]);

  useLayoutEffect(() => {
    // A pressed row must not move before the pointer is released; otherwise the click would miss its target.
    const isPressed = document.activeElement?.closest('[data-path]')?.getAttribute('data-path') === focused;
    if (coveredHeight > 0 && focused !== null && !isPressed) keepClear(focused);
  }, [focused]);
}
