import { ancestorsOf, nameOf, parentOf } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import type { PendingChange } from '../folder/change-log.ts';
import { type Folder, refreshUnlessLarge } from '../folder/folder.ts';
import { pathOf, type QueuedItem } from './upload-item.ts';

/** Has folders show what arrives in them. */
export interface Arrivals {
  /** Shows the folders at once that the items will be in. */
  expect(items: readonly QueuedItem[]): void;
  /** Shows an item that is stored at `path`. */
  stored(item: QueuedItem, stored: { readonly path: string; readonly etag: string }): void;
  /** Has the folder of an item read again of which nobody knows whether it was stored. */
  doubt(item: QueuedItem): void;
  /** All that was to arrive has: makes sure that what is shown is what there is. */
  settle(): void;
}

/** Milliseconds in which files are put together, and so many more for each entry: a long list takes longer to order. */
const INTERVAL = 250;
const INTERVAL_OF_ENTRY = 0.1;

/** Milliseconds after which a folder is read once more of which something is in doubt. */
const LATER = 2_000;

/** `isSeen`: whether one may see what is in a folder; what arrives in another shows no more than what was there. */
export function createArrivals(folder: Folder, isSeen: (folder: string) => boolean): Arrivals {
  /** Folders that are shown before anything is in them. */
  const promised = new Map<string, PendingChange>();
  const touched = new Set<string>();
  let isDoubtful = false;
  let arrived: FileEntry[] = [];
  let flushedAt = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (arrived.length > 0) folder.apply({ added: arrived });
    arrived = [];
    flushedAt = performance.now();
  };
  const intervalNow = () => INTERVAL + INTERVAL_OF_ENTRY * folder.count.value;
  const touch = (path: string) => {
    for (const ancestor of ['', ...ancestorsOf(path)]) {
      touched.add(parentOf(ancestor));
      touched.add(ancestor);
      promised.get(ancestor)?.commit();
      promised.delete(ancestor);
    }
  };

  return {
    expect(items) {
      const here = folder.path.value;
      if (!isSeen(here)) return;
      const expected = new Set<string>();
      for (const item of items) {
        const inside = item.kind === 'folder' ? `${pathOf(item)}/` : item.folder;
        if (!inside.startsWith(here) || inside === here) continue;
        expected.add(inside.slice(0, inside.indexOf('/', here.length) + 1));
      }
      for (const path of expected) {
        if (folder.entryOf(path) || promised.has(path)) continue;
        promised.set(path, folder.begin({ added: [folderEntry(path)] }));
      }
    },
    stored({ kind, file, size }, { path, etag }) {
      touch(kind === 'folder' ? path : parentOf(path));
      if (kind === 'folder' || !isSeen(parentOf(path))) return;
      arrived.push({
        type: 'file',
        name: nameOf(path),
        path,
        size,
        modified: new Date().toISOString(),
        contentType: file?.type || 'application/octet-stream',
        etag,
      });
      timer ??= setTimeout(flush, Math.max(0, flushedAt + intervalNow() - performance.now()));
    },
    doubt(item) {
      isDoubtful = true;
      touched.add(item.folder);
      for (const ancestor of ancestorsOf(item.folder)) touched.add(parentOf(ancestor));
    },
    settle() {
      flush();
      for (const pending of promised.values()) pending.rollback();
      promised.clear();
      const isStale = touched.has(folder.path.value) && folder.state.value === 'ready';
      touched.clear();
      const wasDoubtful = isDoubtful;
      isDoubtful = false;
      if (!isStale) return;
      const here = folder.path.value;
      refreshUnlessLarge(folder);
      // The service may still be storing what it has got in whole.
      if (wasDoubtful) setTimeout(() => folder.path.value === here && refreshUnlessLarge(folder), LATER);
    },
  };
}
