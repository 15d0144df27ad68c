import { useRef } from 'preact/hooks';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import { folderName } from '../../platform/text/folder-name.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { shownName } from '../../platform/text/shown-name.ts';
import { Icon } from '../../ui/icon.tsx';
import { MenuButton, type MenuItem } from '../../ui/menus.tsx';
import { countWithin, useFitting } from '../../ui/responsive.ts';
import { useFolder, useRouter } from '../models.ts';
import { FolderLink } from './folder-link.tsx';

/**
 * The folders from the root down to the one that is shown, which is the title. Those that there is no room for stand in
 * a menu: at first the ones in the middle, the root last.
 */
export function Breadcrumb() {
  const folder = useFolder();
  const { text, tag } = useLanguage();
  const row = useRef<HTMLOListElement>(null);
  const path = folder.path.value;
  const nameFor = (ancestor: string) => folderName(ancestor, text);

  const above = path === ROOT ? [] : [ROOT, ...ancestorsOf(path).slice(0, -1)];
  const fitting = useFitting(row, countFittingAncestors, [path, tag]);
  const kept = new Set(byImportance(above).slice(0, fitting));
  const hidden = above.filter((ancestor) => !kept.has(ancestor));

  return (
    <nav class="breadcrumb" aria-label={text.shell.path}>
      <ol ref={row}>
        {kept.has(ROOT) && <Ancestor folder={ROOT} name={nameFor(ROOT)} isHidden={false} />}
        {hidden.length > 0 && <Hidden folders={hidden} nameFor={nameFor} />}
        {above
          .filter((ancestor) => ancestor !== ROOT || !kept.has(ROOT))
          .map((ancestor) => (
            <Ancestor key={ancestor} folder={ancestor} name={nameFor(ancestor)} isHidden={!kept.has(ancestor)} />
          ))}
        <li class="current">
          <h1>
            <FolderLink folder={path}>
              <bdi title={nameFor(path)}>{shownName(nameFor(path))}</bdi>
            </FolderLink>
          </h1>
        </li>
      </ol>
    </nav>
  );
}

/** The root first, then the nearest folder, and on upwards from there. */
function byImportance(above: readonly string[]): readonly string[] {
  const [root, ...others] = above;
  return root === undefined ? [] : [root, ...others.toReversed()];
}

function Ancestor({ folder, name, isHidden }: { folder: string; name: string; isHidden: boolean }) {
  return (
    <li class={`ancestor ${isHidden ? 'hidden' : ''}`} data-folder={folder}>
      <FolderLink folder={folder}>
        <bdi title={name}>{shownName(name)}</bdi>
      </FolderLink>
      <Icon name="chevron-right" class="directional" />
    </li>
  );
}

function Hidden({ folders, nameFor }: { folders: readonly string[]; nameFor: (folder: string) => string }) {
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
      <Icon name="chevron-right" class="directional" />
    </li>
  );
}

/** How many ancestors, by their importance, go beside the title. */
function countFittingAncestors(row: HTMLElement): number {
  const title = row.querySelector<HTMLElement>('.current a');
  const items = [...row.querySelectorAll<HTMLElement>('.ancestor')];
  const widthOf = new Map(items.map((item) => [item.dataset['folder'] ?? '', item.offsetWidth]));
  const ordered = [...widthOf.keys()].toSorted((left, right) => left.length - right.length);
  const widths = byImportance(ordered).map((folder) => widthOf.get(folder) ?? 0);

  const room = row.clientWidth - (title?.scrollWidth ?? 0);
  const fitting = countWithin(room, widths);
  return fitting === widths.length ? fitting : countWithin(room - MENU_WIDTH, widths);
}

/** Pixels that the menu of the hidden ones takes, where it is widest. */
const MENU_WIDTH = 68;
