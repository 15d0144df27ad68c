import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { useFolder, useMessages, useSelection } from '../models.ts';

/** Returns the height in pixels that messages cover at the lower edge of the scroller. */
export function useCoveredHeight(scroller: RefObject<HTMLElement | null>): number {
  const covered = useMessages().coveredHeight.value;
  const below = covered > 0 && scroller.current ? scroller.current.getBoundingClientRect().bottom : 0;
  return Math.max(0, below - (window.innerHeight - covered));
}

/** Scrolls to revealed entries, and keeps the focused entry visible above the messages. */
export function useRevealed(
  grid: RefObject<HTMLElement | null>,
  coveredHeight: number,
  bringIntoSight: (index: number) => void,
): void {
  const folder = useFolder();
  const selection = useSelection();
  const revealed = selection.revealed.value;
  const focused = folder.focused.value;

  useLayoutEffect(() => {
    const [first] = revealed;
    const index = first === undefined ? -1 : folder.indexOf(first);
    if (index >= 0) bringIntoSight(index);
  }, [revealed]);

  const keepClear = (path: string) => {
    const element = grid.current?.querySelector(`[data-path="${CSS.escape(path)}"]`);
    // A row that the user has scrolled out of view stays there.
    if (!element || element.getBoundingClientRect().top >= window.innerHeight) return;
    const { bottom } = element.getBoundingClientRect();
    const edge = (grid.current?.closest('[data-scroller]')?.getBoundingClientRect().bottom ?? 0) - coveredHeight;
    if (bottom > edge) bringIntoSight(folder.indexOf(path));
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
