import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import type { Selection } from '../../model/selection.ts';
import { isWithin } from '../../platform/paths.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { createFindByTyping, type FindByTyping } from '../../ui/find-by-typing.ts';
import { isForPage } from '../../ui/writing.ts';
import { type Actions, useActions } from '../actions/actions.ts';
import { useChanges, useFolder, useRouter, useSelection } from '../models.ts';
import type { Arrangement } from './arrangement.ts';
import { targetOf } from './navigation.ts';

/**
 * Moves the focus and the selection through the entries by the keyboard, and keeps the focus where it is when entries
 * come, go, or are shown anew.
 */
export function useEntryFocus(
  grid: RefObject<HTMLElement | null>,
  arrangement: Arrangement,
  bringIntoSight: (index: number) => void,
): void {
  const actions = useActions();
  const folder = useFolder();
  const selection = useSelection();
  useNeighbour();
  useFocusInNewFolder();
  useFocusOnElement(grid, bringIntoSight);

  const { columns, rowHeight, headerHeight, height } = arrangement;
  const rowsInSight = Math.floor((height - headerHeight) / rowHeight);
  const isRightToLeft = useLanguage().direction === 'rtl';
  const layout = { columns, rowsInSight, isRightToLeft };
  const [typing] = useState(createFindByTyping);
  useKeys((event) => handleKey(event, { ...layout, actions, folder, selection, typing, bringIntoSight }), grid);
}

/** The keys, wherever the focus is in the folder, and also where nothing has it. */
function useKeys(handle: (event: KeyboardEvent) => void, grid: RefObject<HTMLElement | null>): void {
  const latest = useRef(handle);
  latest.current = handle;
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.defaultPrevented || !isForPage(event)) return;
      const isHere = target instanceof Node && (target === document.body || grid.current?.contains(target));
      const isOnControl = target instanceof Element && target.closest('button, a') !== null;
      if (isHere && !isOnControl) latest.current(event);
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}

interface KeyContext {
  readonly actions: Actions;
  readonly folder: Folder;
  readonly selection: Selection;
  readonly columns: number;
  readonly rowsInSight: number;
  readonly isRightToLeft: boolean;
  readonly typing: FindByTyping;
  readonly bringIntoSight: (index: number) => void;
}

function handleKey(
  event: KeyboardEvent,
  { actions, folder, selection, typing, bringIntoSight, ...layout }: KeyContext,
): void {
  const entries = folder.entries.value;
  const focused = folder.focused.value ?? '';
  const index = folder.indexOf(focused);
  const isModified = event.ctrlKey || event.metaKey;

  const go = (target: number) => {
    const path = entries[target]?.path;
    if (path === undefined) return;
    folder.focused.value = path;
    bringIntoSight(target);
    if (event.shiftKey && event.key.length > 1) selection.extendTo(path, isModified);
    else if (!isModified) selection.only(path);
  };

  if (isModified || event.altKey || (event.key.length > 1 && event.key !== 'Shift')) typing.end();
  if (event.altKey) return;
  const target = targetOf(event.key, index, { ...layout, count: entries.length });
  if (target !== undefined && !(isModified && event.key.startsWith('Arrow') && event.metaKey)) {
    event.preventDefault();
    if (target !== index || !event.shiftKey) go(target);
    return;
  }
  if (event.key === ' ' && index >= 0 && !typing.isUnderWay()) {
    event.preventDefault();
    if (event.shiftKey) selection.extendTo(focused, true);
    else selection.toggle(focused);
    return;
  }
  if (event.key === 'Enter' && !isModified && !event.shiftKey && selection.count.value === 0 && index >= 0) {
    event.preventDefault();
    actions.open(entries[index]);
    return;
  }
  // "/" and "?" are keys of the page.
  if (event.key.length === 1 && !isModified && !'/?'.includes(event.key)) {
    event.preventDefault();
    const found = typing.find(event.key, entries, index);
    if (found >= 0) go(found);
  }
}

/** When the entry with the focus goes, the one that takes its place has it. */
function useNeighbour(): void {
  const folder = useFolder();
  const last = useRef(0);
  const entries = folder.entries.value;
  const focused = folder.focused.value;
  const index = focused === null ? -1 : folder.indexOf(focused);
  useLayoutEffect(() => {
    if (index >= 0) last.current = index;
    else if (focused !== null) folder.focused.value = entries[Math.min(last.current, entries.length - 1)]?.path ?? null;
  }, [focused, index, entries]);
}

/** In a folder that was just opened: where one was in it, the folder that one came out of, or the first entry. */
function useFocusInNewFolder(): void {
  const folder = useFolder();
  const router = useRouter();
  const path = folder.path.value;
  useLayoutEffect(() => {
    const from = folder.previousPath.peek();
    if (folder.focused.peek() !== null || from === null) return;
    const kept = router.viewState()?.focused ?? null;
    const child = isWithin(from, path) ? `${path}${from.slice(path.length).split('/')[0]}/` : null;
    const wanted = [kept, child].find((candidate) => candidate !== null && folder.indexOf(candidate) >= 0);
    folder.focused.value = wanted ?? folder.entries.peek()[0]?.path ?? null;
  }, [path]);
}

/** Gives the focus to the element of the entry that has it, unless it is elsewhere on the page. */
function useFocusOnElement(grid: RefObject<HTMLElement | null>, bringIntoSight: (index: number) => void): void {
  const folder = useFolder();
  const changes = useChanges();
  const focused = folder.focused.value;
  const isRenaming = changes.renaming.value !== null;
  const entries = folder.entries.value;
  useLayoutEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.matches('[data-path]') === true;
    if (focused === null || isRenaming || !isFree) return;
    const element = grid.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(focused)}"]`);
    if (element && element !== activeElement) {
      bringIntoSight(folder.indexOf(focused));
      element.focus({ preventScroll: true });
    }
  }, [focused, isRenaming, entries]);
}
