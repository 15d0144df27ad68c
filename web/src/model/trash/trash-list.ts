import type { Service } from '../../platform/service/service.ts';
import { listTrash, type TrashedItem } from '../../platform/service/trash.ts';
import { createItemList, type ItemList } from '../item-list.ts';

/** The items of the trash, the newest first. */
export type TrashList = ItemList<TrashedItem>;

export function createTrashList(service: Pick<Service, 'send'>): TrashList {
  return createItemList(async (options) => {
    const { entries, cursor } = await listTrash(service, options);
    return { items: entries, cursor };
  });
}
