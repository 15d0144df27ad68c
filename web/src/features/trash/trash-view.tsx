import { createTrashList, type TrashList } from '../../model/trash/trash-list.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { TrashedItem } from '../../platform/service/trash.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import type { MenuItem } from '../../ui/menus.tsx';
import { useCurrentList } from '../items/current-list.ts';
import type { ItemKind } from '../items/item-grid.tsx';
import { type ItemTool, ItemView, useSelectionKeys } from '../items/item-view.tsx';
import { knownEntry } from '../items/known-entry.ts';
import { useChanges, useRetention, useService, useUrls } from '../models.ts';
import { type TrashActions, useTrashActions } from './trash-actions.ts';

/** The deleted files and folders, which users can restore or delete permanently. */
export function TrashView() {
  const service = useService();
  const { trashChanges } = useChanges();
  const list = useCurrentList(() => createTrashList(service), { folder: ROOT, changes: trashChanges });
  const actions = useTrashActions(list);
  const urls = useUrls();
  const language = useFullLanguage();
  const { trash } = useRetention();
  const { text } = language;
  useSelectionKeys(list, (items) => void actions.purge(items));
  return (
    <ItemView
      list={list}
      kind={trashKind(language, actions)}
      title={text.actions.trash}
      url={urls.page(ROOT, null, 'trash')}
      tools={trashTools(language, list, actions)}
      notice={trash?.days == null ? undefined : text.trash.expiry({ days: trash.days })}
      openFailed={text.trash.openFailed}
      none={{ icon: 'delete', title: text.trash.none, hint: text.trash.noneHint }}
    />
  );
}

/** The actions for the selection, or for the whole trash. */
function trashTools({ text }: FullLanguage, list: TrashList, actions: TrashActions): readonly ItemTool[] {
  const items = list.selectedItems.value;
  const tools: ItemTool[] = [];
  if (actions.canRestore(items)) {
    tools.push({ icon: 'undo', kind: 'primary', label: text.trash.restore, run: () => void actions.restore(items) });
  }
  if (actions.canPurge(items)) {
    const label = text.actions.deletePermanently;
    tools.push({ icon: 'delete', kind: 'dangerous', label, run: () => void actions.purge(items) });
  }
  if (items.length === 0 && list.items.value.some((item) => actions.canPurge([item]))) {
    tools.push({ icon: 'delete', kind: 'create', label: text.trash.empty, run: () => void actions.empty() });
  }
  return tools;
}

function trashKind({ text, formats }: FullLanguage, actions: TrashActions): ItemKind<TrashedItem> {
  const originOf = ({ path }: TrashedItem) => <bdi>{shownName(folderName(parentOf(path), text))}</bdi>;
  const timeOf = ({ deletedAt }: TrashedItem) => new Date(deletedAt);
  return {
    label: text.trash.items,
    entryOf: knownEntry,
    summaryOf: (item) => (
      <>
        {formats.time(timeOf(item))} · {originOf(item)}
      </>
    ),
    columns: [
      {
        id: 'origin',
        width: 12,
        rank: 2,
        title: text.trash.originalFolder,
        cell: (item) => ({ content: originOf(item), title: `/${parentOf(item.path)}` }),
      },
      {
        id: 'deleted numbers',
        width: 10,
        rank: 1,
        title: text.trash.deleted,
        cell: (item) => ({ content: formats.time(timeOf(item)), title: formats.exactTime(timeOf(item)) }),
      },
      {
        id: 'user',
        width: 8,
        rank: 4,
        title: text.trash.deletedBy,
        cell: ({ user }) => ({ content: <bdi>{user}</bdi>, title: user }),
      },
      {
        id: 'size numbers',
        width: 6,
        rank: 3,
        title: text.folder.size,
        cell: ({ size }) =>
          size === undefined ? { content: '' } : { content: formats.size(size), title: formats.exactSize(size) },
      },
    ],
    menuOf: (items) => [restoreItems(text, items, actions), purgeItems(text, items, actions)],
  };
}

type Text = FullLanguage['text'];

function restoreItems(text: Text, items: readonly TrashedItem[], actions: TrashActions): MenuItem[] {
  if (!actions.canRestore(items)) return [];
  return [{ id: 'restore', icon: 'undo', label: text.trash.restore, run: () => void actions.restore(items) }];
}

function purgeItems(text: Text, items: readonly TrashedItem[], actions: TrashActions): MenuItem[] {
  if (!actions.canPurge(items)) return [];
  const label = text.actions.deletePermanently;
  const run = () => void actions.purge(items);
  return [{ id: 'purge', icon: 'delete', label, keys: 'Delete', isDangerous: true, run }];
}
