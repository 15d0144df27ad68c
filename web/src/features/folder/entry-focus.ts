import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import type { Selection } from '../../model/selection.ts';
import { isWithin } from '../../platform/paths.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { isForPage, TypeAhead } from '../../ui/keyboard.ts';
import { type Actions, useActions } from '../actions/actions.ts';
import { useChanges, useFolder, useRouter, useSelection } from '../models.ts';
import { type EntryLayout, targetIndex } from './grid-layout.ts';

/**
 * Moves the focus and the selection by the keyboard. Keeps the focus on its entry when entries are added, removed or
 * rendered again.
 */
export function useEntryFocus(
  grid: RefObject<HTMLElement | null>,
  layout: EntryLayout,
  scrollToIndex: (index: number) => void,
): void {
  const actions = useActions();
  const folder = useFolder();
  const selection = useSelection();
  useFocusOnNeighbour();
  useFocusInNewFolder();
  useFocusOnElement(grid, scrollToIndex);

  const { rows, headerHeight, height } = layout;
  const visibleRows = Math.floor(((height - headerHeight) * rows.count) / Math.max(1, rows.height));
  const isRightToLeft = useLanguage().direction === 'rtl';
  const [typeAhead] = useState(() => new TypeAhead());
  const context = { layout, visibleRows, isRightToLeft, actions, folder, selection, typeAhead, scrollToIndex };
  useGridKeys((event) => handleKey(event, context), grid);
}

/** Handles keys while the focus is in the grid or nowhere, except on buttons and links. */
function useGridKeys(handle: (event: KeyboardEvent) => void, grid: RefObject<HTMLElement | null>): void {
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
  readonly layout: EntryLayout;
  readonly visibleRows: number;
  readonly isRightToLeft: boolean;
  readonly typeAhead: TypeAhead;
  readonly scrollToIndex: (index: number) => void;
}

function handleKey(event: KeyboardEvent, context: KeyContext): void {
  const { actions, folder, selection, typeAhead, layout, visibleRows, isRightToLeft } = context;
  const { key, shiftKey, altKey } = event;
  const isModified = event.ctrlKey || event.metaKey;
  if (isModified || altKey || (key.length > 1 && key !== 'Shift')) typeAhead.reset();
  if (altKey) return;

  const entries = folder.entries.value;
  const focused = folder.focused.value ?? '';
  const index = folder.indexOf(focused);
  const target = targetIndex(key, index, { ...layout, visibleRows, isRightToLeft });
  if (target !== undefined && !(event.metaKey && key.startsWith('Arrow'))) {
    event.preventDefault();
    if (target !== index || !shiftKey) moveTo(target, event, context);
  } else if (key === ' ' && (isModified || !typeAhead.isTyping(event))) {
    // The space bar alone opens the quick look.
    if (index < 0 || !(shiftKey || isModified)) return;
    event.preventDefault();
    if (shiftKey) selection.extendTo(focused, true);
    else selection.toggle(focused);
  } else if (key === 'Enter' && !isModified && !shiftKey && selection.count.value === 0 && index >= 0) {
    event.preventDefault();
    actions.open(entries[index]);
  } else if (key.length === 1 && !isModified && !'/?'.includes(key)) {
    // "/" and "?" are shortcuts of the page.
    event.preventDefault();
    const found = typeAhead.find(event, index, entries.length, (position) => entries[position]?.name);
    if (found >= 0) moveTo(found, event, context);
  }
}

/** Focuses an entry, and selects it as the modifier keys say. */
function moveTo(
  index: number,
  { key, shiftKey, ctrlKey, metaKey }: KeyboardEvent,
  { folder, selection, scrollToIndex }: KeyContext,
): void {
  const path = folder.entries.value[index]?.path;
  if (path === undefined) return;
  folder.focused.value = path;
  scrollToIndex(index);
  const isModified = ctrlKey || metaKey;
  if (shiftKey && key.length > 1) selection.extendTo(path, isModified);
  else if (!isModified) selection.only(path);
}

/** Moves the focus of a removed entry to the entry that is now at its position. */
function useFocusOnNeighbour(): void {
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

/**
 * Focuses an entry of a folder that the user opened: the one that had the focus before, the folder that the user came
 * from, or the first entry.
 */
function useFocusInNewFolder(): void {
  const folder = useFolder();
  const router = useRouter();
  const path = folder.path.value;
  useLayoutEffect(() => {
    const from = folder.previousPath.peek();
    if (folder.focused.peek() !== null || from === null) return;
    const previous = router.viewState()?.focused ?? null;
    const child = isWithin(from, path) ? `${path}${from.slice(path.length).split('/')[0]}/` : null;
    const existing = [previous, child].find((candidate) => candidate !== null && folder.indexOf(candidate) >= 0);
    folder.focused.value = existing ?? folder.entries.peek()[0]?.path ?? null;
  }, [path]);
}

/** Focuses the element of the focused entry, unless the focus is elsewhere on the page. */
function useFocusOnElement(grid: RefObject<HTMLElement | null>, scrollToIndex: (index: number) => void): void {
  const folder = useFolder();
  const changes = useChanges();
  const focused = folder.focused.value;
  const isRenaming = changes.renaming.value !== null;
  const entries = folder.entries.value;
  const last = useRef(focused);
  useLayoutEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.matches('[data-path]') === true;
    if (focused === null || isRenaming || !isFree) return;
    const element = grid.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(focused)}"]`);
    if (element && element !== activeElement) {
      // The user may have scrolled away before other clients changed entries.
      if (focused !== last.current) scrollToIndex(folder.indexOf(focused));
      last.current = focused;
      element.focus({ preventScroll: true });
    }
  }, [focused, isRenaming, entries]);
}
