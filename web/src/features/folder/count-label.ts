import type { Folder } from '../../model/folder/folder.ts';
import type { InitialText } from '../../platform/text/language.ts';

/** Returns how many items the shown folder has, or how many of them are loaded. */
export function countLabel({ listing, count }: Pick<Folder, 'listing' | 'count'>, { folder }: InitialText): string {
  const labels = { partial: folder.loadingMore, paused: folder.paused, complete: folder.items };
  return labels[listing.value]({ count: count.value });
}
