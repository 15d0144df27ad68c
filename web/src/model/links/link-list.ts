import { type Link, listLinks } from '../../platform/service/links.ts';
import type { Service } from '../../platform/service/service.ts';
import { createItemList, type ItemList } from '../item-list.ts';

/** Share links, the newest first. */
export type LinkList = ItemList<Link>;

/** Creates the list of the links to a folder and everything in it. */
export function createLinkList(service: Pick<Service, 'send'>, folder: string): LinkList {
  return createItemList(async (options) => {
    const { links, cursor } = await listLinks(service, { below: folder, ...options });
    return { items: links, cursor };
  });
}
