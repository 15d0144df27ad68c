import { ancestorsOf, nameOf, parentOf } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import type { UploadedFile } from '../../platform/service/upload.ts';
import type { PendingChange } from '../folder/change-log.ts';
import { type Folder, refreshUnlessLarge } from '../folder/folder.ts';
import { pathOf, type QueuedItem, type UploadItem } from './upload-item.ts';

/* How the shown folder follows the uploads: it lists them while they run, and highlights them at the end. */

/** The minimum time between two updates of the list, plus the time per entry: a long list takes longer to sort. */
const UPDATE_INTERVAL_MS = 250;
const UPDATE_INTERVAL_MS_PER_ENTRY = 0.1;

/** The time after which a folder with an uncertain upload is read a second time. */
const SECOND_REFRESH_MS = 2_000;

/** Shows uploads in the shown folder while they run, and reads the folder at the end if it can be outdated. */
export class UploadReconciler {
  readonly #folder: Folder;
  readonly #canList: (folder: string) => boolean;
  /** Folders that are shown although the service has not created them yet. */
  readonly #pendingFolders = new Map<string, PendingChange>();
  /** The paths of folders whose content changes. */
  readonly #changedFolders = new Set<string>();
  #hasUncertain = false;
  #stored: FileEntry[] = [];
  #updatedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `canList` returns whether the user can list a folder. The content of other folders is not shown. */
  constructor(folder: Folder, canList: (folder: string) => boolean) {
    this.#folder = folder;
    this.#canList = canList;
  }

  /** Shows the folders that the items create in the shown folder. */
  showFolders(items: readonly QueuedItem[]): void {
    const shown = this.#folder.path.value;
    if (!this.#canList(shown)) return;
    for (const item of items) {
      const path = item.kind === 'folder' ? pathOf(item) : item.folder;
      if (!path.startsWith(shown) || path === shown) continue;
      const child = path.slice(0, path.indexOf('/', shown.length) + 1);
      if (this.#pendingFolders.has(child) || this.#folder.entryOf(child)) continue;
      const pending = this.#folder.begin({ added: [{ type: 'folder', path: child, name: nameOf(child) }] });
      this.#pendingFolders.set(child, pending);
    }
  }

  /** Shows a stored item. */
  addStored({ kind, file, size }: QueuedItem, { path, etag }: UploadedFile): void {
    const folder = kind === 'folder' ? path : parentOf(path);
    this.#confirmFolders(folder);
    if (kind === 'folder' || !this.#canList(folder)) return;
    this.#stored.push({
      type: 'file',
      name: nameOf(path),
      path,
      size,
      modified: new Date().toISOString(),
      contentType: file?.type || 'application/octet-stream',
      etag,
    });
    const interval = UPDATE_INTERVAL_MS + UPDATE_INTERVAL_MS_PER_ENTRY * this.#folder.count.value;
    this.#timer ??= setTimeout(() => this.#update(), Math.max(0, this.#updatedAt + interval - performance.now()));
  }

  /** Records that an item might be stored. */
  markUncertain(item: QueuedItem): void {
    this.#hasUncertain = true;
    this.#changedFolders.add(item.folder);
    for (const ancestor of ancestorsOf(item.folder)) this.#changedFolders.add(parentOf(ancestor));
  }

  /** Called when all uploads have ended: reads the shown folder if it has changed, unless it is large. */
  reconcile(): void {
    this.#update();
    for (const pending of this.#pendingFolders.values()) pending.rollback();
    this.#pendingFolders.clear();
    const folder = this.#folder;
    const shown = folder.path.value;
    const isOutdated = this.#changedFolders.has(shown) && folder.state.value === 'ready';
    this.#changedFolders.clear();
    const hasUncertain = this.#hasUncertain;
    this.#hasUncertain = false;
    if (!isOutdated) return;
    refreshUnlessLarge(folder);
    // The service might still be storing a file that it has received completely.
    if (hasUncertain) {
      setTimeout(() => folder.path.value === shown && refreshUnlessLarge(folder), SECOND_REFRESH_MS);
    }
  }

  #update(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#stored.length > 0) this.#folder.apply({ added: this.#stored });
    this.#stored = [];
    this.#updatedAt = performance.now();
  }

  /** Records that the service has created a folder and its ancestors, if they did not exist. */
  #confirmFolders(path: string): void {
    for (const folder of ['', ...ancestorsOf(path)]) {
      this.#changedFolders.add(parentOf(folder));
      this.#changedFolders.add(folder);
      this.#pendingFolders.get(folder)?.commit();
      this.#pendingFolders.delete(folder);
    }
  }
}

/** Returns the entries of a folder that uploads were stored as or in. */
export function storedEntries(items: readonly UploadItem[], folder: string): readonly string[] {
  const entries = new Set<string>();
  for (const item of items) {
    const path = pathOf(item);
    if (item.state.peek() !== 'done' || !path.startsWith(folder)) continue;
    const end = path.indexOf('/', folder.length);
    entries.add(end < 0 ? path : path.slice(0, end + 1));
  }
  return [...entries];
}
