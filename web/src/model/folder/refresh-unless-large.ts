import type { Folder } from './folder.ts';

/** Entries up to which a folder is read again only to learn what the service says of a few of them. */
const QUICKLY_READ = 5_000;

/** Reads the shown folder again, unless it is so large that it takes long. */
export function refreshUnlessLarge(folder: Pick<Folder, 'count' | 'refresh'>): void {
  if (folder.count.value <= QUICKLY_READ) void folder.refresh();
}
