import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Item, ItemList } from '../../model/item-list.ts';
import { ROOT } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { useToolbarFocus } from '../../ui/focus.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { isForPage, isKey, keyLabel } from '../../ui/keyboard.ts';
import { isPlainClick } from '../../ui/plain-click.ts';
import { useActions } from '../actions/actions.ts';
import { Name } from '../folder/entry-parts.tsx';
import { Skeleton } from '../folder/skeleton.tsx';
import { useAccount, useChanges, useRouter, useUrls } from '../models.ts';
import { SidebarButton } from '../sidebar/sidebar-slot.tsx';
import { AccountButton } from '../sign-in/account-button.tsx';
import { SettingsButton } from '../toolbar/top-bar.tsx';
import { ItemGrid, type ItemKind } from './item-grid.tsx';
import './item-view.css';

interface ItemViewProps<Kind extends Item> {
  list: ItemList<Kind>;
  kind: ItemKind<Kind>;
  /** The folder whose items the list contains. Default: the root. */
  folder?: string;
  /** The title of the view, and its URL. */
  title: string;
  url: string;
  /** The buttons for the selection, or for the whole list. */
  tools: readonly ItemTool[];
  /** Shown above the items. */
  notice?: string | undefined;
  openFailed: string;
  /** Shown instead of items if there are none. */
  none: { readonly icon: IconName; readonly title: string; readonly hint: string };
}

export interface ItemTool {
  readonly icon: IconName;
  readonly kind: 'primary' | 'dangerous' | 'create' | 'plain';
  readonly label: string;
  readonly run: () => void;
}

/** A list of items, shown instead of the folder. */
export function ItemView<Kind extends Item>(props: ItemViewProps<Kind>) {
  const { list, folder = ROOT, title, url, tools } = props;
  return (
    <>
      <TopBar folder={folder} title={title} url={url} />
      <main>
        <Toolbar list={list} tools={tools} />
        <div class="content">
          <div class="folder-view item-view" data-region="list">
            <Contents {...props} />
          </div>
        </div>
      </main>
    </>
  );
}

/** Handles keys for the selection, wherever the focus is. `remove` is for Delete. */
export function useSelectionKeys<Kind extends Item>(
  list: ItemList<Kind>,
  remove: (items: readonly Kind[]) => void,
): void {
  const account = useAccount();
  const changes = useChanges();
  const router = useRouter();
  const actions = useActions();
  const latest = useRef(remove);
  latest.current = remove;
  useLayoutEffect(() => {
    const run = (event: KeyboardEvent): boolean => {
      if (isKey(event, ['Escape'])) list.clearSelection();
      else if (isKey(event, ['mod+a'])) list.selectAll();
      else if (isKey(event, ['Delete', 'shift+Delete', 'mod+Backspace'])) latest.current(list.selectedItems.value);
      else if (isKey(event, ['mod+z'])) changes.undos.value.at(-1)?.();
      else if (isKey(event, ['mod+shift+z'])) changes.redos.value.at(-1)?.();
      else if (isKey(event, ['alt+r'])) {
        void account?.check();
        void list.refresh();
      } else if (isKey(event, ['alt+ArrowUp', 'mod+ArrowUp', 'Backspace']))
        router.openFolder(router.route.value.folder);
      else if (isKey(event, ['mod+k'])) actions.available('palette')?.run();
      else return false;
      return true;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && isForPage(event) && run(event)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [list]);
}

function TopBar({ folder, title, url }: { folder: string; title: string; url: string }) {
  const { text } = useFullLanguage();
  return (
    <header class="top-bar of-items" data-region="top">
      <SidebarButton />
      <nav class="breadcrumb" aria-label={text.shell.path}>
        <ol>
          <Ancestor folder={ROOT} />
          {folder !== ROOT && <Ancestor folder={folder} />}
          <li class="current">
            <h1>
              <a href={url} aria-current="page" onClick={(event) => event.preventDefault()}>
                {title}
              </a>
            </h1>
          </li>
        </ol>
      </nav>
      <SettingsButton />
      <AccountButton />
    </header>
  );
}

function Ancestor({ folder }: { folder: string }) {
  const router = useRouter();
  const urls = useUrls();
  const { text } = useFullLanguage();
  const open = (event: MouseEvent) => {
    if (!isPlainClick(event)) return;
    event.preventDefault();
    router.openFolder(folder);
  };
  return (
    <li class="ancestor">
      <a href={urls.page(folder)} onClick={open}>
        <Name of={folderName(folder, text)} />
      </a>
      <Icon name="chevron-right" class="directional" />
    </li>
  );
}

/** The actions for the selection, or for the whole list. On a phone, they are at the lower edge. */
function Toolbar<Kind extends Item>({ list, tools }: Pick<ItemViewProps<Kind>, 'list' | 'tools'>) {
  const { text } = useFullLanguage();
  const row = useRef<HTMLDivElement>(null);
  const focus = useToolbarFocus(row);
  const count = list.selectedItems.value.length;
  const hasItems = list.items.value.length > 0;
  return (
    <div class={`toolbar ${count > 0 ? 'of-selection' : 'of-folder'}`} data-region="toolbar">
      {count > 0 && (
        <div class="selected">
          <IconButton
            icon="close"
            label={text.shell.clearSelection}
            shortcut={keyLabel('Escape')}
            onClick={() => list.clearSelection()}
          />
          <span class="numbers">{text.shell.selected({ count })}</span>
        </div>
      )}
      <div ref={row} class="tools" role="toolbar" aria-label={text.shell.actions} {...focus}>
        {tools.map((tool) => (
          <Tool key={tool.label} {...tool} />
        ))}
      </div>
      <div class="folder-state">
        <span class="count numbers">{hasItems && <LoadedCount list={list} />}</span>
      </div>
    </div>
  );
}

function Tool({ icon, kind, label, run }: ItemTool) {
  return (
    <button class={`tool ${kind}`} type="button" title={label} onClick={run}>
      <Icon name={icon} />
      <span>{label}</span>
    </button>
  );
}

/** The number of items, with a sign that there are more while not all are loaded. */
function LoadedCount<Kind extends Item>({ list }: { list: ItemList<Kind> }) {
  const { text } = useFullLanguage();
  const count = list.items.value.length;
  return <>{text.folder.items({ count }) + (list.isComplete.value ? '' : '+')}</>;
}

function Contents<Kind extends Item>({ list, kind, notice, openFailed, none }: ItemViewProps<Kind>) {
  const language = useFullLanguage();
  const { text } = language;
  const problem = list.problem.value;
  if (list.state.value === 'loading') return <Skeleton />;
  if (list.state.value === 'failed') {
    return (
      <div class="state" role="alert">
        <p class="title">{openFailed}</p>
        {problem && <p class="detail">{language.reasonOf(problem)}</p>}
        <Button onClick={() => void list.refresh()}>{text.controls.retry}</Button>
      </div>
    );
  }
  if (list.items.value.length === 0 && list.isComplete.value) {
    return (
      <div class="state" tabIndex={-1}>
        <Icon name={none.icon} class="emblem" />
        <p class="title">{none.title}</p>
        <p>{none.hint}</p>
      </div>
    );
  }
  return (
    <>
      {notice !== undefined && <p class="notice">{notice}</p>}
      <ItemGrid list={list} kind={kind} />
      {problem && (
        <div class="more-entries" role="alert">
          <span>{language.reasonOf(problem)}</span>
          <Button onClick={() => void (list.isComplete.value ? list.refresh() : list.loadMore())}>
            {text.controls.retry}
          </Button>
        </div>
      )}
    </>
  );
}
