import { useState } from 'preact/hooks';
import { Highlighter } from '../../model/highlighter.ts';
import { createRecentList, type RecentFile } from '../../model/places/recent-files.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';
import { folderName, shownName } from '../../platform/text/names.ts';
import { useCurrentList } from '../items/current-list.ts';
import type { ItemKind } from '../items/item-grid.tsx';
import { type ItemTool, ItemView, useSelectionKeys } from '../items/item-view.tsx';
import { knownEntry } from '../items/known-entry.ts';
import { useChanges, useFolder, usePlaces, useRouter, useSelection, useService, useUrls } from '../models.ts';

interface RecentActions {
  open(file: RecentFile): void;
  show(file: RecentFile): void;
}

/** The files that the user opened, and those that any client changed, the newest first. */
export function RecentView() {
  const service = useService();
  const places = usePlaces();
  const urls = useUrls();
  const language = useFullLanguage();
  const { trashChanges } = useChanges();
  const list = useCurrentList(() => createRecentList(service, requireVisited(places)), {
    folder: ROOT,
    changes: trashChanges,
  });
  const actions = useRecentActions();
  const { text } = language;
  useSelectionKeys(list, () => {});
  const [first] = list.selectedItems.value;
  const tools: readonly ItemTool[] = first
    ? [
        { icon: 'eye', kind: 'plain', label: text.recent.open, run: () => actions.open(first) },
        { icon: 'folder', kind: 'plain', label: text.trash.showInFolder, run: () => actions.show(first) },
      ]
    : [];
  return (
    <ItemView
      list={list}
      kind={recentKind(language, actions)}
      title={text.actions.recent}
      url={urls.page(ROOT, null, 'recent')}
      tools={tools}
      openFailed={text.recent.failed}
      none={{ icon: 'clock', title: text.recent.none, hint: text.recent.noneHint }}
    />
  );
}

function requireVisited(places: ReturnType<typeof usePlaces>) {
  if (!places) throw new Error('Visitors have no recent files.');
  return places.visited;
}

function useRecentActions(): RecentActions {
  const router = useRouter();
  const folder = useFolder();
  const selection = useSelection();
  const [highlighter] = useState(() => new Highlighter({ folder, selection, router }));
  return {
    open: ({ id }) => router.go({ folder: parentOf(id), preview: id }),
    show: ({ id }) => highlighter.open(id),
  };
}

function recentKind({ text, formats }: FullLanguage, actions: RecentActions): ItemKind<RecentFile> {
  const { recent } = text;
  const activityOf = ({ activity, user }: RecentFile) => {
    if (activity === 'opened') return recent.opened;
    return user === undefined ? recent.changed : recent.changedBy({ user: shownName(user) });
  };
  const folderOf = ({ id }: RecentFile) => <bdi>{shownName(folderName(parentOf(id), text))}</bdi>;
  const timeOf = ({ time }: RecentFile) => new Date(time);
  return {
    label: recent.items,
    open: actions.open,
    entryOf: ({ id, size }) => knownEntry({ type: 'file', path: id, size }),
    summaryOf: (file) => (
      <>
        {activityOf(file)} · {formats.time(timeOf(file))}
      </>
    ),
    columns: [
      {
        id: 'origin',
        width: 12,
        rank: 2,
        title: recent.folder,
        cell: (file) => ({ content: folderOf(file), title: `/${parentOf(file.id)}` }),
      },
      {
        id: 'activity',
        width: 12,
        rank: 3,
        title: recent.activity,
        cell: (file) => ({ content: activityOf(file), title: activityOf(file) }),
      },
      {
        id: 'time numbers',
        width: 10,
        rank: 1,
        title: recent.time,
        cell: (file) => ({ content: formats.time(timeOf(file)), title: formats.exactTime(timeOf(file)) }),
      },
    ],
    menuOf: ([file, ...others]) =>
      file === undefined || others.length > 0
        ? []
        : [
            [
              { id: 'open', icon: 'eye', label: recent.open, run: () => actions.open(file) },
              { id: 'show', icon: 'folder', label: text.trash.showInFolder, run: () => actions.show(file) },
            ],
          ],
  };
}
