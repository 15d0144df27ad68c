import { effect, type ReadonlySignal, untracked } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { Item, ItemList } from '../../model/item-list.ts';
import { useAccount } from '../models.ts';

/**
 * Returns the list that `create` returns. Creates another one when `folder` changes. Reads the list again after changes of the
 * items, which `changes` counts, and when another user signs in.
 */
export function useCurrentList<Kind extends Item>(
  create: () => ItemList<Kind>,
  { folder, changes }: { folder: string; changes: ReadonlySignal<number> | undefined },
): ItemList<Kind> {
  const account = useAccount();
  const list = useMemo(create, [folder]);
  useEffect(() => {
    const stop = effect(() => {
      void changes?.value;
      void account?.signInCount.value;
      // Reading the list must not make it a dependency of the effect.
      untracked(() => void list.refresh());
    });
    return () => {
      stop();
      list.end();
    };
  }, [list]);
  return list;
}
