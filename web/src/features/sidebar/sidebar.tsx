import type { ComponentChildren } from 'preact';
import { isFolderPath, nameOf, parentOf, ROOT } from '../../platform/paths.ts';
import type { PageView } from '../../platform/service/urls.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { IconButton } from '../../ui/button.tsx';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import mark from '../../ui/mark.svg';
import { isPlainClick } from '../../ui/plain-click.ts';
import { useActions } from '../actions/actions.ts';
import { useDragging } from '../dragging/dragging.ts';
import { Name } from '../folder/entry-parts.tsx';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { knownEntry } from '../items/known-entry.ts';
import { usePlaces, useRouter, useUrls } from '../models.ts';
import { FolderTreeView } from './folder-tree-view.tsx';
import './sidebar.css';

interface SidebarProps {
  /** Called when the user has chosen an item. */
  onChosen?: () => void;
}

/** Recent files, shared links, the trash, the favourites, and the tree of all folders. */
export function Sidebar({ onChosen = () => {} }: SidebarProps) {
  const { text } = useFullLanguage();
  const palette = useActions().available('palette');
  return (
    <>
      <div class="brand">
        <img src={mark} alt="" draggable={false} />
        <span>Holdall</span>
        {palette && (
          <IconButton
            icon="search"
            label={text.actions.palette}
            shortcut={palette.keys[0] && keyLabel(palette.keys[0])}
            onClick={() => {
              onChosen();
              palette.run();
            }}
          />
        )}
      </div>
      <Views onChosen={onChosen} />
      <Favourites onChosen={onChosen} />
      <h2 class="heading" id="sidebar-folders">
        {text.sidebar.folders}
      </h2>
      <FolderTreeView onChosen={onChosen} />
    </>
  );
}

/** The order of the lists. */
const VIEWS: readonly PageView[] = ['recent', 'links', 'trash'];

function Views({ onChosen }: Required<SidebarProps>) {
  const actions = useActions();
  const router = useRouter();
  const urls = useUrls();
  const { text } = useFullLanguage();
  const { view } = router.route.value;
  return (
    <div class="group">
      <ul>
        {VIEWS.map((id) => {
          const action = actions.available(id);
          if (!action) return null;
          return (
            <li key={id}>
              <Item
                icon={action.icon}
                url={urls.page(ROOT, null, id)}
                isCurrent={view === id && router.route.value.folder === ROOT}
                run={() => {
                  onChosen();
                  action.run();
                }}
              >
                {text.actions[id]}
              </Item>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Favourites({ onChosen }: Required<SidebarProps>) {
  const places = usePlaces();
  const router = useRouter();
  const urls = useUrls();
  const dragging = useDragging();
  const { text } = useFullLanguage();
  const items = places?.favourites.items.value ?? [];
  const { folder, preview, view } = router.route.value;
  if (items.length === 0) return null;
  return (
    <section class="group favourites" aria-labelledby="sidebar-favourites">
      <h2 class="heading" id="sidebar-favourites">
        {text.sidebar.favourites}
      </h2>
      <ul>
        {items.toReversed().map(({ path }) => {
          const isFolder = isFolderPath(path);
          const parent = isFolder ? path : parentOf(path);
          const name = nameOf(path);
          const isTarget = isFolder && dragging.target.value === path;
          return (
            <li key={path} class={isTarget ? 'target' : ''}>
              <Item
                entryPath={path}
                url={urls.page(parent, isFolder ? null : path)}
                isCurrent={!view && (isFolder ? folder === path && preview === null : preview === path)}
                run={() => {
                  onChosen();
                  router.go({ folder: parent, preview: isFolder ? null : path });
                }}
              >
                <Name of={name} />
              </Item>
              <IconButton
                icon="close"
                label={text.sidebar.removeFavourite({ name: shownName(name) })}
                onClick={() => places?.favourites.remove(path)}
              />
            </li>
          );
        })}
      </ul>
    </section>
  );
}

interface ItemProps {
  icon?: IconName;
  /** The path of a file or folder, whose icon is shown. */
  entryPath?: string;
  url: string;
  isCurrent: boolean;
  run: () => void;
  children: ComponentChildren;
}

function Item({ icon, entryPath, url, isCurrent, run, children }: ItemProps) {
  const entry = entryPath === undefined ? undefined : knownEntry({ type: typeOf(entryPath), path: entryPath });
  return (
    <a
      class="item"
      href={url}
      aria-current={isCurrent ? 'page' : undefined}
      data-drop-folder={entry?.type === 'folder' ? entry.path : undefined}
      title={entry && shownName(entry.path)}
      draggable={false}
      onClick={(event) => {
        if (!isPlainClick(event)) return;
        event.preventDefault();
        run();
      }}
    >
      {entry && <EntryIcon entry={entry} />}
      {icon && <Icon name={icon} />}
      <span class="truncated-name">{children}</span>
    </a>
  );
}

const typeOf = (path: string) => (isFolderPath(path) ? 'folder' : 'file');
