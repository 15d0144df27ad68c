import { effect, untracked } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { FolderTree, type TreeRow } from '../../model/places/folder-tree.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import { useFullLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import { isRightToLeft } from '../../ui/direction.ts';
import { Icon } from '../../ui/icon.tsx';
import { TypeAhead } from '../../ui/keyboard.ts';
import { isPlainClick } from '../../ui/plain-click.ts';
import { uniformRows, useVirtualRows } from '../../ui/virtual-rows.ts';
import { useDragging } from '../dragging/dragging.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useAccount, useDetails, useFolder, useRouter, useService, useUrls } from '../models.ts';

/** Rows rendered beyond the visible ones. */
const OVERSCAN = 8;

/**
 * The tree of all folders (https://www.w3.org/WAI/ARIA/apg/patterns/treeview/). `onChosen` is called when the user opens
 * one.
 */
export function FolderTreeView({ onChosen }: { onChosen: () => void }) {
  const router = useRouter();
  const { text } = useFullLanguage();
  const tree = useFolderTree();
  const scroller = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const { folder: shown, view } = router.route.value;
  const rows = tree.rows.value;
  const stop = Math.max(0, indexOf(rows, focused ?? idOfFolder(shown)));
  const rowHeight = useRowHeight(scroller);
  const positions = useMemo(() => uniformRows(rows.length, rowHeight), [rows.length, rowHeight]);
  const virtual = useVirtualRows({
    scroller,
    positions,
    headerHeight: 0,
    pinned: stop,
    overscan: OVERSCAN,
  });
  const hasFocus = useRef(false);
  const focusRow = (index: number) => {
    const row = rows[index];
    if (!row) return;
    hasFocus.current = true;
    setFocused(idOf(row));
    virtual.scrollTo(index);
  };
  useLayoutEffect(() => {
    if (!hasFocus.current) return;
    scroller.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
  }, [focused]);
  // Shows the open folder when it changes, as soon as the tree contains it.
  const shownIndex = view ? -1 : indexOf(rows, idOfFolder(shown));
  const isInTree = shownIndex >= 0;
  useLayoutEffect(() => {
    if (isInTree) virtual.scrollTo(shownIndex);
  }, [shown, isInTree, rowHeight]);
  const open = (path: string) => {
    onChosen();
    router.openFolder(path);
  };
  const onKeyDown = useTreeKeys({ tree, rows, stop, focusRow, open });

  return (
    <div
      ref={scroller}
      class="tree"
      role="tree"
      aria-labelledby="sidebar-folders"
      data-scroller
      onKeyDown={onKeyDown}
      onFocusIn={() => {
        hasFocus.current = true;
      }}
      onFocusOut={() => {
        hasFocus.current = false;
      }}
    >
      <div role="presentation" class="rows" style={virtual.style}>
        {virtual.rows.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          const props = {
            row,
            isStop: index === stop,
            style: { transform: `translateY(${start}px)`, '--level': row.level },
            onFocus: () => setFocused(idOf(row)),
          };
          return row.kind === 'folder' ? (
            <FolderRow
              key={idOf(row)}
              {...props}
              row={row}
              isShown={!view && row.path === shown}
              name={folderName(row.path, text)}
              toggle={() => (row.isExpanded ? tree.collapse(row.path) : tree.expand(row.path))}
              open={() => open(row.path)}
            />
          ) : (
            <MoreRow key={idOf(row)} {...props} row={row} run={() => tree.readMore(row.path)} />
          );
        })}
      </div>
    </div>
  );
}

/** Returns the tree, which follows the shown folder and the changes of the feed while the component is mounted. */
function useFolderTree(): FolderTree {
  const service = useService();
  const folder = useFolder();
  const router = useRouter();
  const details = useDetails();
  const account = useAccount();
  const language = useLanguageSignal();
  const compareNames = useMemo(
    () => ({
      get value() {
        return language.value.formats.compareNames;
      },
    }),
    [language],
  );
  const [tree] = useState(() => new FolderTree({ service, folder, compareNames }));
  useEffect(() => {
    const receive: Parameters<(typeof details.feedListeners)['add']>[0] = (change) => tree.receive(change);
    details.feedListeners.add(receive);
    const endRevealing = effect(() => {
      const { folder: path } = router.route.value;
      untracked(() => tree.reveal(path));
    });
    const endRefreshing = effect(() => {
      if ((account?.signInCount.value ?? 0) > 0) untracked(() => tree.receive(undefined));
    });
    return () => {
      details.feedListeners.delete(receive);
      endRevealing();
      endRefreshing();
      tree.end();
    };
  }, [tree]);
  return tree;
}

const idOfFolder = (path: string) => `folder:${path}`;
const idOf = (row: TreeRow) => `${row.kind}:${row.path}`;
const indexOf = (rows: readonly TreeRow[], id: string) => rows.findIndex((row) => idOf(row) === id);

/** Returns the height of a row in pixels, which follows the user's text size. */
function useRowHeight(scroller: RefObject<HTMLElement | null>): number {
  const [height, setHeight] = useState(0);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const measure = () => {
      const style = getComputedStyle(document.documentElement);
      setHeight(Number.parseFloat(style.getPropertyValue('--control')) * Number.parseFloat(style.fontSize));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return height || 1;
}

interface RowProps<Row extends TreeRow> {
  row: Row;
  isStop: boolean;
  style: Record<string, string | number>;
  onFocus: () => void;
}

interface FolderRowProps extends RowProps<Extract<TreeRow, { kind: 'folder' }>> {
  isShown: boolean;
  name: string;
  toggle: () => void;
  open: () => void;
}

function FolderRow({ row, isStop, isShown, name, style, onFocus, toggle, open }: FolderRowProps) {
  const urls = useUrls();
  const dragging = useDragging();
  const isTarget = dragging.target.value === row.path;
  return (
    <a
      role="treeitem"
      class={`row ${isTarget ? 'target' : ''}`}
      href={urls.page(row.path)}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={row.isLeaf ? undefined : row.isExpanded}
      aria-current={isShown ? 'page' : undefined}
      aria-busy={row.isLoading}
      tabIndex={isStop ? 0 : -1}
      title={shownName(name)}
      data-drop-folder={row.path}
      draggable={false}
      style={style}
      onFocus={onFocus}
      onClick={(event) => {
        if (!isPlainClick(event)) return;
        event.preventDefault();
        if (event.target instanceof Element && event.target.closest('.toggle')) toggle();
        else open();
      }}
    >
      <span class="toggle" aria-hidden="true">
        {!row.isLeaf && <Icon name="chevron-right" />}
      </span>
      <Icon name="folder" class="entry-icon folder" />
      <span class="truncated-name">
        <Name of={name} />
      </span>
    </a>
  );
}

interface MoreRowProps extends RowProps<Extract<TreeRow, { kind: 'more' }>> {
  run: () => void;
}

/** Reads more subfolders, or those that could not be read. */
function MoreRow({ row, isStop, style, onFocus, run }: MoreRowProps) {
  const language = useFullLanguage();
  const { text } = language;
  return (
    <div
      role="treeitem"
      class="row more"
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      tabIndex={isStop ? 0 : -1}
      title={row.problem ? language.reasonOf(row.problem) : undefined}
      style={style}
      onFocus={onFocus}
      onClick={run}
    >
      {row.problem ? `${text.sidebar.notRead} ${text.controls.retry}` : text.sidebar.more}
    </div>
  );
}

interface TreeKeysOptions {
  readonly tree: FolderTree;
  readonly rows: readonly TreeRow[];
  /** The index of the focused row. */
  readonly stop: number;
  readonly focusRow: (index: number) => void;
  readonly open: (path: string) => void;
}

/** Returns the listener that moves the focus, and opens and closes folders, by the keys of the tree pattern. */
function useTreeKeys({ tree, rows, stop, focusRow, open }: TreeKeysOptions) {
  const { text } = useFullLanguage();
  const [typeAhead] = useState(() => new TypeAhead());
  const labelOf = (index: number) => {
    const row = rows[index];
    return row?.kind === 'folder' ? folderName(row.path, text) : undefined;
  };
  const toward = (row: TreeRow) => {
    if (row.kind !== 'folder' || row.isLeaf) return;
    if (!row.isExpanded) tree.expand(row.path);
    else if (rows[stop + 1]?.level === row.level + 1) focusRow(stop + 1);
  };
  const back = (row: TreeRow) => {
    if (row.kind === 'folder' && row.isExpanded && !row.isLeaf) return tree.collapse(row.path);
    const parent = row.kind === 'more' ? row.path : parentOf(row.path);
    if (row.path !== ROOT || row.kind === 'more') focusRow(indexOf(rows, idOfFolder(parent)));
  };
  const run = (event: KeyboardEvent, row: TreeRow): boolean => {
    const { key } = event;
    const isForward = key === (isRightToLeft() ? 'ArrowLeft' : 'ArrowRight');
    if (isForward) toward(row);
    else if (key === 'ArrowRight' || key === 'ArrowLeft') back(row);
    else if (key === 'ArrowDown') focusRow(stop + 1);
    else if (key === 'ArrowUp') focusRow(stop - 1);
    else if (key === 'Home') focusRow(0);
    else if (key === 'End') focusRow(rows.length - 1);
    else if (key === 'Enter' || (key === ' ' && !typeAhead.isTyping(event))) {
      if (row.kind === 'folder') open(row.path);
      else tree.readMore(row.path);
    } else if (key.length === 1) {
      const found = typeAhead.find(event, stop, rows.length, labelOf);
      if (found >= 0) focusRow(found);
    } else return false;
    return true;
  };
  return (event: KeyboardEvent) => {
    const row = rows[stop];
    const isModified = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
    if (!row || event.isComposing || isModified || !run(event, row)) return;
    event.preventDefault();
    event.stopPropagation();
  };
}
