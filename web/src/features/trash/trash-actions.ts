import { useState } from 'preact/hooks';
import { Highlighter } from '../../model/highlighter.ts';
import { empty, mayPurge, mayRestore, purge, restore } from '../../model/trash/trash-changes.ts';
import type { TrashList } from '../../model/trash/trash-list.ts';
import type { TrashedItem } from '../../platform/service/trash.ts';
import { useDialogs } from '../../ui/dialogs.tsx';
import { useChanges, useFolder, usePermissions, useRetention, useRouter, useSelection } from '../models.ts';
import { confirmEmpty, confirmPurge } from './confirm.tsx';

/** The actions of the trash. They do nothing for items without permission. No method throws. */
export interface TrashActions {
  canRestore(items: readonly TrashedItem[]): boolean;
  canPurge(items: readonly TrashedItem[]): boolean;
  restore(items: readonly TrashedItem[]): Promise<void>;
  /** Asks for confirmation, and deletes items permanently. */
  purge(items: readonly TrashedItem[]): Promise<void>;
  /** Asks for confirmation, and deletes all items permanently. */
  empty(): Promise<void>;
}

export function useTrashActions(list: TrashList): TrashActions {
  const changes = useChanges();
  const permissions = usePermissions();
  const dialogs = useDialogs();
  const folder = useFolder();
  const selection = useSelection();
  const router = useRouter();
  const { trash } = useRetention();
  const [highlighter] = useState(() => new Highlighter({ folder, selection, router }));
  const canRestore = (items: readonly TrashedItem[]) =>
    items.length > 0 && items.every((item) => mayRestore(permissions, item));
  const canPurge = (items: readonly TrashedItem[]) =>
    trash?.days != null && items.length > 0 && items.every((item) => mayPurge(permissions, item));
  return {
    canRestore,
    canPurge,
    async restore(items) {
      if (!canRestore(items)) return;
      const showInFolder = (path: string) => highlighter.open(path);
      await changes.perform(({ context }) => list.remove(items, () => restore(context, items, showInFolder)));
    },
    async purge(items) {
      if (!canPurge(items) || !(await confirmPurge(dialogs, items))) return;
      await changes.perform(({ context }) => list.remove(items, () => purge(context, items)));
    },
    async empty() {
      if (!(await confirmEmpty(dialogs))) return;
      await changes.perform(async ({ context }) => {
        await empty(context);
        await list.refresh();
      });
    },
  };
}
