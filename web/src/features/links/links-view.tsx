import { useState } from 'preact/hooks';
import { Highlighter } from '../../model/highlighter.ts';
import { createLinkList, type LinkList } from '../../model/links/link-list.ts';
import type { Link } from '../../platform/service/links.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import type { MenuItem } from '../../ui/menus.tsx';
import { useCurrentList } from '../items/current-list.ts';
import type { ItemKind } from '../items/item-grid.tsx';
import { type ItemTool, ItemView, useSelectionKeys } from '../items/item-view.tsx';
import { useAccount, useFolder, useLinks, useRouter, useSelection, useService, useUrls } from '../models.ts';
import { useLinkActions } from './link-actions.ts';
import { LinkSummary, linkColumns } from './link-columns.tsx';
import { entryOf } from './link-descriptions.ts';

/** The links to a folder and everything in it: the user's own, and those of other users to what the user manages. */
export function LinksView() {
  const router = useRouter();
  const urls = useUrls();
  const language = useFullLanguage();
  const { folder } = router.route.value;
  const service = useService();
  const links = useLinks();
  const list = useCurrentList(() => createLinkList(service, folder), { folder, changes: links?.changes });
  const actions = useListActions(list);
  const hasUsers = useAccount() !== null;
  const { text } = language;
  useSelectionKeys(list, actions.revoke);
  return (
    <ItemView
      key={folder}
      list={list}
      kind={linkKind(language, actions, hasUsers)}
      folder={folder}
      title={text.actions.links}
      url={urls.page(folder, null, 'links')}
      tools={linkTools(language, list, actions)}
      openFailed={text.links.loadFailed}
      none={{ icon: 'link', title: text.links.none, hint: text.links.noneHint }}
    />
  );
}

interface ListActions {
  show(link: Link): void;
  edit(link: Link): void;
  revoke(links: readonly Link[]): void;
}

function useListActions(list: LinkList): ListActions {
  const folder = useFolder();
  const selection = useSelection();
  const router = useRouter();
  const actions = useLinkActions();
  const [highlighter] = useState(() => new Highlighter({ folder, selection, router }));
  return {
    show: ({ path }) => (path === '' ? router.openFolder(path) : highlighter.open(path)),
    edit: (link) => void actions.edit(link),
    revoke: (links) => void actions.revoke(links, list),
  };
}

/** The actions for the selection. */
function linkTools({ text }: FullLanguage, list: LinkList, actions: ListActions): readonly ItemTool[] {
  const links = list.selectedItems.value;
  const [first] = links;
  if (!first) return [];
  const forOne: readonly ItemTool[] = [
    { icon: 'rename', kind: 'plain', label: text.links.edit, run: () => actions.edit(first) },
    { icon: 'folder', kind: 'plain', label: text.trash.showInFolder, run: () => actions.show(first) },
  ];
  return [
    ...(links.length === 1 ? forOne : []),
    { icon: 'delete', kind: 'dangerous', label: text.links.revoke, run: () => actions.revoke(links) },
  ];
}

function linkMenu({ text }: FullLanguage, links: readonly Link[], actions: ListActions): readonly MenuItem[][] {
  const [first] = links;
  if (!first) return [];
  const forOne: MenuItem[] = [
    { id: 'show', icon: 'folder', label: text.trash.showInFolder, run: () => actions.show(first) },
    { id: 'edit', icon: 'rename', label: text.links.edit, run: () => actions.edit(first) },
  ];
  const revoke: MenuItem = {
    id: 'revoke',
    icon: 'delete',
    label: text.links.revoke,
    keys: 'Delete',
    isDangerous: true,
    run: () => actions.revoke(links),
  };
  return [links.length === 1 ? forOne : [], [revoke]];
}

function linkKind(language: FullLanguage, actions: ListActions, hasUsers: boolean): ItemKind<Link> {
  const { text } = language;
  return {
    label: text.actions.links,
    entryOf: (link) => entryOf(link, text),
    summaryOf: (link) => <LinkSummary link={link} />,
    columns: linkColumns(language, hasUsers),
    menuOf: (links) => linkMenu(language, links, actions),
  };
}
