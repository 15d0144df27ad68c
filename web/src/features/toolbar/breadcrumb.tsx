import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { isWritableTarget } from '../../model/folder/folder.ts';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import { Icon } from '../../ui/icon.tsx';
import { MenuButton, type MenuItem } from '../../ui/menus.tsx';
import { isPlainClick } from '../../ui/plain-click.ts';
import { countWithin, useFitting } from '../../ui/responsive.ts';
import { useActions } from '../actions/actions.ts';
import { useDragging } from '../dragging/dragging.ts';
import { useFolder, useRouter, useUrls } from '../models.ts';

/**
 * The path of the shown folder, whose name is the title. Ancestors that don't fit are in a menu: first those in the
 * middle, and the root last.
 */
export function Breadcrumb() {
  const folder = useFolder();
  const { text, tag } = useLanguage();
  const goTo = useActions().available('goTo');
  const row = useRef<HTMLOListElement>(null);
  const path = folder.path.value;
  const nameFor = (ancestor: string) => folderName(ancestor, text);

  const ancestors = path === ROOT ? [] : [ROOT, ...ancestorsOf(path).slice(0, -1)];
  const fitting = useFitting(row, countFittingAncestors, [path, tag]);
  const visible = new Set(byImportance(ancestors).slice(0, fitting));
  const hidden = ancestors.filter((ancestor) => !visible.has(ancestor));

  return (
    <nav
      class={`breadcrumb ${goTo ? 'editable' : ''}`}
      aria-label={text.shell.path}
      onClick={({ target }) => {
        if (target instanceof Element && !target.closest('li')) goTo?.run();
      }}
    >
      <ol ref={row}>
        {visible.has(ROOT) && <Ancestor folder={ROOT} name={nameFor(ROOT)} isHidden={false} />}
        {hidden.length > 0 && <HiddenAncestors folders={hidden} nameFor={nameFor} />}
        {ancestors
          .filter((ancestor) => ancestor !== ROOT || !visible.has(ROOT))
          .map((ancestor) => (
            <Ancestor key={ancestor} folder={ancestor} name={nameFor(ancestor)} isHidden={!visible.has(ancestor)} />
          ))}
        <li class="current">
          <h1>
            <FolderLink folder={path}>
              <span title={nameFor(path)}>{shownName(nameFor(path))}</span>
            </FolderLink>
          </h1>
        </li>
      </ol>
    </nav>
  );
}

/** Returns the root, and then the other ancestors from the nearest to the farthest. */
function byImportance(ancestors: readonly string[]): readonly string[] {
  const [root, ...others] = ancestors;
  return root === undefined ? [] : [root, ...others.toReversed()];
}

function Ancestor({ folder, name, isHidden }: { folder: string; name: string; isHidden: boolean }) {
  return (
    <li class={`ancestor ${isHidden ? 'hidden' : ''}`} data-folder={folder}>
      <FolderLink folder={folder}>
        <span title={name}>{shownName(name)}</span>
      </FolderLink>
      <Icon name="chevron-right" />
    </li>
  );
}

function HiddenAncestors({ folders, nameFor }: { folders: readonly string[]; nameFor: (folder: string) => string }) {
  const router = useRouter();
  const { text } = useLanguage();
  const items = (): readonly MenuItem[] =>
    folders.map((folder) => ({
      id: folder,
      label: nameFor(folder),
      icon: 'folder',
      run: () => router.openFolder(folder),
    }));
  return (
    <li class="above">
      <MenuButton icon="more" label={text.shell.hiddenFolders} groups={() => [items()]} />
      <Icon name="chevron-right" />
    </li>
  );
}

/** Returns how many ancestors, by their importance, fit beside the title. */
function countFittingAncestors(row: HTMLElement): number {
  const title = row.querySelector<HTMLElement>('.current a');
  const items = [...row.querySelectorAll<HTMLElement>('.ancestor')];
  const widthOf = new Map(items.map((item) => [item.dataset['folder'] ?? '', item.offsetWidth]));
  const ordered = [...widthOf.keys()].toSorted((a, b) => a.length - b.length);
  const widths = byImportance(ordered).map((folder) => widthOf.get(folder) ?? 0);

  const available = row.clientWidth - (title?.scrollWidth ?? 0);
  const fitting = countWithin(available, widths);
  return fitting === widths.length ? fitting : countWithin(available - MENU_WIDTH, widths);
}

/** The maximum width of the menu with hidden ancestors, in pixels. */
const MENU_WIDTH = 68;

/** A link to a folder, and a drop target. The link to the shown folder refreshes it. */
function FolderLink({ folder, children }: { folder: string; children: ComponentChildren }) {
  const shown = useFolder();
  const router = useRouter();
  const urls = useUrls();
  const dragging = useDragging();
  const actions = useActions();
  const isShown = shown.path.value === folder;
  const isTarget = dragging.target.value === folder;
  return (
    <a
      class={isTarget ? 'drop-target' : ''}
      href={urls.page(folder)}
      aria-current={isShown ? 'page' : undefined}
      data-drop-folder={isShown && !isWritableTarget(shown) ? undefined : folder}
      // The end of a long name is omitted, in the direction of the name.
      dir="auto"
      draggable={false}
      onClick={(event) => {
        if (!isPlainClick(event)) return;
        event.preventDefault();
        if (isShown) actions.available('refresh')?.run();
        else router.openFolder(folder);
      }}
    >
      {children}
    </a>
  );
}
