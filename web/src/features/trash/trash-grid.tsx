import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { TrashList } from '../../model/trash/trash-list.ts';
import { nameOf, parentOf } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { TrashedItem } from '../../platform/service/trash.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import { isForPage, isKey, TypeAhead } from '../../ui/keyboard.ts';
import { type MenuItem, useMenus } from '../../ui/menus.tsx';
import type { Box } from '../../ui/placement.ts';
import { useVirtualRows } from '../../ui/virtual-rows.ts';
import { Check, EntryName, MoreButton } from '../folder/entry-parts.tsx';
import { targetIndex, useGridLayout } from '../folder/grid-layout.ts';
import { pointOf } from '../folder/pointing.ts';
import { useCoveredHeight } from '../folder/scrolling.ts';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { usePreferences } from '../models.ts';
import type { TrashActions } from './trash-actions.ts';

interface TrashGridProps {
  list: TrashList;
  actions: TrashActions;
}

/** Rows rendered beyond the visible ones. */
const OVERSCAN = 8;

/** The number of rows before the end at which the next page is requested. */
const ROWS_AHEAD = 100;

/** The items of the trash as rows, with the ARIA role of a grid. */
export function TrashGrid({ list, actions }: TrashGridProps) {
  const preferences = usePreferences();
  const { text } = useFullLanguage();
  const scroller = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const items = list.items.value;
  const { rowHeight, headerHeight, height } = useGridLayout('list', scroller, preferences.density.value);
  const focused = list.focused.value;
  const tabStop = focused === null ? 0 : Math.max(0, list.indexOf(focused));
  const headerRows = headerHeight > 0 ? 1 : 0;
  const virtual = useVirtualRows({
    scroller,
    count: items.length,
    rowHeight,
    headerHeight,
    coveredHeight: useCoveredHeight(scroller),
    pinned: tabStop,
    overscan: OVERSCAN,
  });
  const lastRow = virtual.rows.reduce((last, { index }) => Math.max(last, index), 0);
  useEffect(() => {
    if (lastRow > items.length - ROWS_AHEAD) void list.loadMore();
  }, [lastRow, items]);
  const openMenu = useItemMenu(list, actions);
  const visibleRows = Math.floor((height - headerHeight) / rowHeight);
  useItemFocus(list, grid, virtual.scrollTo);
  useItemKeys({ list, grid, visibleRows, scrollTo: virtual.scrollTo, openMenu });
  const pointing = useItemPointing(list, openMenu);

  return (
    <div class="scroller" data-scroller ref={scroller}>
      <div
        ref={grid}
        role="grid"
        class="entries list trash-items"
        aria-label={text.trash.items}
        aria-multiselectable="true"
        aria-rowcount={list.isComplete.value ? items.length + headerRows : -1}
        {...pointing}
      >
        {headerRows > 0 && <TrashHeader />}
        <div role="rowgroup" class="rows" style={virtual.style}>
          {virtual.rows.map(({ index, start }) => {
            const item = items[index];
            return (
              item && (
                <TrashRow
                  key={item.id}
                  item={item}
                  isSelected={list.selected.value.has(item.id)}
                  isChoosing={list.selected.value.size > 0}
                  isTabStop={index === tabStop}
                  position={index + 1 + headerRows}
                  start={start}
                  height={rowHeight}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function TrashHeader() {
  const { text } = useFullLanguage();
  return (
    <div role="row" class="list-header" aria-rowindex={1}>
      <div role="columnheader" class="name">
        {text.folder.name}
      </div>
      <div role="columnheader" class="origin">
        {text.trash.originalFolder}
      </div>
      <div role="columnheader" class="deleted">
        {text.trash.deleted}
      </div>
      <div role="columnheader" class="user">
        {text.trash.deletedBy}
      </div>
      <div role="columnheader" class="size">
        {text.folder.size}
      </div>
      <div role="columnheader" class="more">
        <span class="visually-hidden">{text.shell.actions}</span>
      </div>
    </div>
  );
}

interface TrashRowProps {
  item: TrashedItem;
  isSelected: boolean;
  /** Whether any item is selected. */
  isChoosing: boolean;
  isTabStop: boolean;
  /** The 1-based position among all rows of the grid, including the header. */
  position: number;
  /** Pixels from the top of all rows. */
  start: number;
  height: number;
}

function TrashRow({ item, isSelected, isChoosing, isTabStop, position, start, height }: TrashRowProps) {
  const { text, formats } = useFullLanguage();
  const entry = entryOf(item);
  const parent = parentOf(item.path);
  const origin = shownName(folderName(parent, text));
  const deleted = new Date(item.deletedAt);
  return (
    <div
      role="row"
      class={`entry ${isSelected ? 'selected' : ''} ${isChoosing ? 'choosing' : ''}`}
      data-id={item.id}
      aria-rowindex={position}
      aria-selected={isSelected}
      tabIndex={isTabStop ? 0 : -1}
      style={{ transform: `translateY(${start}px)`, blockSize: `${height}px` }}
    >
      <div role="gridcell" class="name">
        <Check entry={entry} isSelected={isSelected} />
        <span class="label">
          <EntryIcon entry={entry} />
          <span class="words">
            <EntryName entry={entry} />
            <span class="summary numbers" aria-hidden="true">
              <bdi>{origin}</bdi> · {formats.time(deleted)}
            </span>
          </span>
        </span>
      </div>
      <div role="gridcell" class="origin" title={`/${parent}`}>
        <bdi>{origin}</bdi>
      </div>
      <div role="gridcell" class="deleted numbers" title={formats.exactTime(deleted)}>
        {formats.time(deleted)}
      </div>
      <div role="gridcell" class="user" title={item.user}>
        <bdi>{item.user}</bdi>
      </div>
      <div role="gridcell" class="size numbers" title={item.size === undefined ? '' : formats.exactSize(item.size)}>
        {item.size === undefined ? '' : formats.size(item.size)}
      </div>
      <div role="gridcell" class="more">
        <MoreButton name={entry.name} />
      </div>
    </div>
  );
}

/** Returns an item as the entry that it was. Its content type is not known. */
function entryOf({ type, path, size = 0 }: TrashedItem): Entry {
  if (type === 'folder') return folderEntry(path);
  return { type, path, name: nameOf(path), size, modified: null, contentType: '', etag: '' };
}

type OpenMenu = (id: string, anchor: Box) => void;

/** Returns a function that opens the menu of an item, or of the selection if the item belongs to it. */
function useItemMenu(list: TrashList, actions: TrashActions): OpenMenu {
  const menus = useMenus();
  const { text } = useFullLanguage();
  return (id, anchor) => {
    if (!list.selected.value.has(id)) list.selectOnly(id);
    list.focused.value = id;
    const items = list.selectedItems.value;
    const groups: MenuItem[][] = [];
    if (actions.canRestore(items)) {
      const run = () => void actions.restore(items);
      groups.push([{ id: 'restore', icon: 'undo', label: text.trash.restore, run }]);
    }
    if (actions.canPurge(items)) {
      const run = () => void actions.purge(items);
      const label = text.actions.deletePermanently;
      groups.push([{ id: 'purge', icon: 'delete', label, keys: 'Delete', isDangerous: true, run }]);
    }
    if (groups.length > 0) menus.open({ label: text.shell.selected({ count: items.length }), groups, anchor });
  };
}

/** Keeps the focus on its item, and moves it from a removed item to the one at its position. */
function useItemFocus(list: TrashList, grid: RefObject<HTMLElement | null>, scrollTo: (index: number) => void): void {
  const items = list.items.value;
  const focused = list.focused.value;
  const last = useRef(0);
  const index = focused === null ? -1 : list.indexOf(focused);
  useLayoutEffect(() => {
    if (index >= 0) last.current = index;
    else list.focused.value = items[Math.min(last.current, items.length - 1)]?.id ?? null;
  }, [index, items]);
  // An effect runs after the layout effects of menus and dialogs that close at the same time, which return the focus.
  useEffect(() => {
    const { activeElement } = document;
    const isFree = activeElement === document.body || activeElement?.matches('[data-id]') === true;
    if (focused === null || !isFree) return;
    const element = grid.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(focused)}"]`);
    if (!element || element === activeElement) return;
    scrollTo(list.indexOf(focused));
    element.focus({ preventScroll: true });
  }, [focused, items]);
}

interface ItemKeysOptions {
  readonly list: TrashList;
  readonly grid: RefObject<HTMLElement | null>;
  readonly visibleRows: number;
  readonly scrollTo: (index: number) => void;
  readonly openMenu: OpenMenu;
}

/** Moves the focus and the selection by the keyboard. Enter opens the menu of the focused item. */
function useItemKeys(options: ItemKeysOptions): void {
  const latest = useRef(options);
  latest.current = options;
  const [typeAhead] = useState(() => new TypeAhead());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      const { grid } = latest.current;
      if (event.defaultPrevented || !isForPage(event) || !(target instanceof Element)) return;
      const isHere = target === document.body || grid.current?.contains(target);
      if (isHere && target.closest('button, a') === null && handleKey(event, latest.current, typeAhead)) {
        event.preventDefault();
      }
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

/** Returns whether the key did something. */
function handleKey(
  event: KeyboardEvent,
  { list, grid, visibleRows, scrollTo, openMenu }: ItemKeysOptions,
  typeAhead: TypeAhead,
): boolean {
  const { key } = event;
  const isModified = event.ctrlKey || event.metaKey || event.altKey;
  const items = list.items.value;
  const focused = list.focused.value ?? '';
  const index = list.indexOf(focused);
  const moveTo = (position: number, isExtended: boolean) => {
    const id = items[position]?.id;
    if (id === undefined) return;
    list.focused.value = id;
    scrollTo(position);
    if (isExtended) list.extendTo(id);
    else if (!isModified) list.selectOnly(id);
  };
  const target = targetIndex(key, index, { count: items.length, columns: 1, visibleRows, isRightToLeft: false });
  if (target !== undefined && !event.altKey) {
    typeAhead.reset();
    moveTo(target, event.shiftKey);
  } else if (key === ' ' && index >= 0 && !typeAhead.isTyping) {
    if (event.shiftKey) list.extendTo(focused);
    else list.toggle(focused);
  } else if (isKey(event, ['Enter']) && index >= 0) {
    const row = grid.current?.querySelector(`[data-id="${CSS.escape(focused)}"]`);
    if (row) openMenu(focused, row.getBoundingClientRect());
  } else if (key.length === 1 && !isModified) {
    const found = typeAhead.find(key, index, items.length, (position) => nameOf(items[position]?.path ?? ''));
    if (found >= 0) moveTo(found, false);
  } else return false;
  return true;
}

/** Returns the pointer event listeners of the grid. A tap selects, because items in the trash can't be opened. */
function useItemPointing(list: TrashList, openMenu: OpenMenu) {
  const isTouch = useRef(false);
  return {
    onPointerDown({ pointerType }: PointerEvent) {
      isTouch.current = pointerType !== 'mouse';
    },
    onClick(event: MouseEvent) {
      const id = idAt(event);
      if (id === undefined) return;
      const button = closest(event, '[data-more]');
      list.focused.value = id;
      if (button) openMenu(id, button.getBoundingClientRect());
      else if (event.shiftKey) list.extendTo(id);
      else if (isTouch.current || event.ctrlKey || event.metaKey || closest(event, '[data-check]')) list.toggle(id);
      else list.selectOnly(id);
    },
    onContextMenu(event: MouseEvent) {
      const id = idAt(event);
      if (id === undefined) return;
      event.preventDefault();
      // A `contextmenu` event from the keyboard has no position.
      const isByKey = event.button !== 2 && event.clientX <= 0;
      const row = closest(event, '[data-id]');
      openMenu(id, isByKey && row ? row.getBoundingClientRect() : pointOf(event));
    },
    onFocusIn(event: FocusEvent) {
      const id = idAt(event);
      if (id !== undefined) list.focused.value = id;
    },
  };
}

const idAt = (event: Event) => closest(event, '[data-id]')?.dataset['id'];

function closest({ target }: Event, selector: string): HTMLElement | undefined {
  return target instanceof Element ? (target.closest<HTMLElement>(selector) ?? undefined) : undefined;
}
