import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Item, ItemList } from '../../model/item-list.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { isForPage, isKey, TypeAhead } from '../../ui/keyboard.ts';
import { type MenuItem, useMenus } from '../../ui/menus.tsx';
import type { Box } from '../../ui/placement.ts';
import { uniformRows, useVirtualRows } from '../../ui/virtual-rows.ts';
import { type FittedColumn, fitColumns } from '../folder/columns.ts';
import { Check, EntryName, MoreButton } from '../folder/entry-parts.tsx';
import { targetIndex, uniformCells, useListLayout } from '../folder/grid-layout.ts';
import { pointOf } from '../folder/pointing.ts';
import { useCoveredHeight } from '../folder/scrolling.ts';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { usePreferences } from '../models.ts';

/** A column after the name. */
export interface ItemColumn<Kind extends Item> extends FittedColumn {
  /** The class of its cells. */
  readonly id: string;
  readonly title: string;
  /** Returns the content of a cell, and what it shows on hover. */
  readonly cell: (item: Kind) => { readonly content: ComponentChildren; readonly title?: string | undefined };
}

/** What rows show of the items, and what users can do with them. */
export interface ItemKind<Kind extends Item> {
  /** The accessible name of the grid. */
  readonly label: string;
  readonly columns: readonly ItemColumn<Kind>[];
  /** Returns the entry whose icon and name a row shows. */
  readonly entryOf: (item: Kind) => Entry;
  /** Returns what narrow windows show below the name, instead of columns. */
  readonly summaryOf: (item: Kind) => ComponentChildren;
  /** Opens an item, if items can be opened. */
  readonly open?: (item: Kind) => void;
  /** Returns the menu of one or several items. */
  readonly menuOf: (items: readonly Kind[]) => readonly (readonly MenuItem[])[];
}

interface ItemGridProps<Kind extends Item> {
  list: ItemList<Kind>;
  kind: ItemKind<Kind>;
}

/** Rows rendered beyond the visible ones. */
const OVERSCAN = 8;

/** The number of rows before the end at which the next page is requested. */
const ROWS_AHEAD = 100;

/** The items of a list as rows, with the ARIA role of a grid. */
export function ItemGrid<Kind extends Item>({ list, kind }: ItemGridProps<Kind>) {
  const preferences = usePreferences();
  const scroller = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLDivElement>(null);
  const items = list.items.value;
  const { available, rowHeight, headerHeight, height } = useListLayout(scroller, preferences.density.value);
  const { shown, template } = fitColumns(available, kind.columns);
  const positions = useMemo(() => uniformRows(items.length, rowHeight), [items.length, rowHeight]);
  const focused = list.focused.value;
  const tabStop = focused === null ? 0 : Math.max(0, list.indexOf(focused));
  const headerRows = headerHeight > 0 ? 1 : 0;
  const virtual = useVirtualRows({
    scroller,
    positions,
    headerHeight,
    coveredHeight: useCoveredHeight(scroller),
    pinned: tabStop,
    overscan: OVERSCAN,
  });
  const lastRow = virtual.rows.reduce((last, { index }) => Math.max(last, index), 0);
  useEffect(() => {
    if (lastRow > items.length - ROWS_AHEAD) void list.loadMore();
  }, [lastRow, items]);
  const openMenu = useItemMenu(list, kind);
  const visibleRows = Math.floor((height - headerHeight) / rowHeight);
  useItemFocus(list, grid, virtual.scrollTo);
  const labelOf = (item: Kind) => kind.entryOf(item).name;
  const open =
    kind.open &&
    ((id: string) => {
      const item = items[list.indexOf(id)];
      if (item) kind.open?.(item);
    });
  useItemKeys({ list, grid, visibleRows, scrollTo: virtual.scrollTo, openMenu, open, labelOf });
  const pointing = useItemPointing(list, openMenu, open);

  return (
    <div class="scroller" data-scroller ref={scroller}>
      <div
        ref={grid}
        role="grid"
        class="entries list items"
        style={{ '--columns': template }}
        aria-label={kind.label}
        aria-multiselectable="true"
        aria-rowcount={list.isComplete.value ? items.length + headerRows : -1}
        {...pointing}
      >
        {headerRows > 0 && <Header columns={shown} />}
        <div role="rowgroup" class="rows" style={virtual.style}>
          {virtual.rows.map(({ index, start }) => {
            const item = items[index];
            return (
              item && (
                <Row
                  key={item.id}
                  item={item}
                  kind={kind}
                  columns={shown}
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

function Header<Kind extends Item>({ columns }: { columns: readonly ItemColumn<Kind>[] }) {
  const { text } = useFullLanguage();
  return (
    <div role="row" class="list-header" aria-rowindex={1}>
      <div role="columnheader" class="name">
        {text.folder.name}
      </div>
      {columns.map(({ id, title }) => (
        <div key={id} role="columnheader" class={id}>
          {title}
        </div>
      ))}
      <div role="columnheader" class="more">
        <span class="visually-hidden">{text.shell.actions}</span>
      </div>
    </div>
  );
}

interface RowProps<Kind extends Item> {
  item: Kind;
  kind: ItemKind<Kind>;
  columns: readonly ItemColumn<Kind>[];
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

function Row<Kind extends Item>(props: RowProps<Kind>) {
  const { item, kind, columns, isSelected, isChoosing, isTabStop, position, start, height } = props;
  const entry = kind.entryOf(item);
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
            {columns.length === 0 && (
              <span class="summary numbers" aria-hidden="true">
                {kind.summaryOf(item)}
              </span>
            )}
          </span>
        </span>
      </div>
      {columns.map(({ id, cell }) => {
        const { content, title } = cell(item);
        return (
          <div key={id} role="gridcell" class={id} title={title}>
            {content}
          </div>
        );
      })}
      <div role="gridcell" class="more">
        <MoreButton name={entry.name} />
      </div>
    </div>
  );
}

type OpenMenu = (id: string, anchor: Box) => void;

/** Returns a function that opens the menu of an item, or of the selection if the item belongs to it. */
function useItemMenu<Kind extends Item>(list: ItemList<Kind>, kind: ItemKind<Kind>): OpenMenu {
  const menus = useMenus();
  const { text } = useFullLanguage();
  return (id, anchor) => {
    if (!list.selected.value.has(id)) list.selectOnly(id);
    list.focused.value = id;
    const items = list.selectedItems.value;
    const groups = kind.menuOf(items).filter(({ length }) => length > 0);
    if (groups.length > 0) menus.open({ label: text.shell.selected({ count: items.length }), groups, anchor });
  };
}

/** Keeps the focus on its item, and moves it from a removed item to the one at its position. */
function useItemFocus<Kind extends Item>(
  list: ItemList<Kind>,
  grid: RefObject<HTMLElement | null>,
  scrollTo: (index: number) => void,
): void {
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

interface ItemKeysOptions<Kind extends Item> {
  readonly list: ItemList<Kind>;
  readonly grid: RefObject<HTMLElement | null>;
  readonly visibleRows: number;
  readonly scrollTo: (index: number) => void;
  readonly openMenu: OpenMenu;
  readonly open: ((id: string) => void) | undefined;
  readonly labelOf: (item: Kind) => string;
}

/** Moves the focus and the selection by the keyboard. Enter opens the focused item, or its menu. */
function useItemKeys<Kind extends Item>(options: ItemKeysOptions<Kind>): void {
  const latest = useRef(options);
  latest.current = options;
  const [typeAhead] = useState(() => new TypeAhead());
  useLayoutEffect(() => {
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
function handleKey<Kind extends Item>(
  event: KeyboardEvent,
  { list, grid, visibleRows, scrollTo, openMenu, open, labelOf }: ItemKeysOptions<Kind>,
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
  const target = targetIndex(key, index, { ...uniformCells(items.length, 1), visibleRows, isRightToLeft: false });
  if (target !== undefined && !event.altKey) {
    typeAhead.reset();
    moveTo(target, event.shiftKey);
  } else if (key === ' ' && index >= 0 && !typeAhead.isTyping(event)) {
    if (event.shiftKey) list.extendTo(focused);
    else list.toggle(focused);
  } else if (isKey(event, ['Enter']) && index >= 0) {
    const row = grid.current?.querySelector(`[data-id="${CSS.escape(focused)}"]`);
    if (open) open(focused);
    else if (row) openMenu(focused, row.getBoundingClientRect());
  } else if (key.length === 1 && !isModified) {
    const found = typeAhead.find(event, index, items.length, (position) => {
      const item = items[position];
      return item && labelOf(item);
    });
    if (found >= 0) moveTo(found, false);
  } else return false;
  return true;
}

/** Returns the pointer event listeners of the grid. A tap opens an item, or selects it if it can't be opened. */
function useItemPointing<Kind extends Item>(
  list: ItemList<Kind>,
  openMenu: OpenMenu,
  open: ((id: string) => void) | undefined,
) {
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
      else if (open && isTouch.current && list.selected.value.size === 0) open(id);
      else if (event.shiftKey) list.extendTo(id);
      else if (isTouch.current || event.ctrlKey || event.metaKey || closest(event, '[data-check]')) list.toggle(id);
      else list.selectOnly(id);
    },
    onDblClick(event: MouseEvent) {
      const id = idAt(event);
      if (id !== undefined && !closest(event, '[data-more], [data-check]')) open?.(id);
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
