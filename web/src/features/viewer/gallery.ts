import { useComputed } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import { isSvg, previewKindOf } from '../../platform/preview-kinds.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { useFolder } from '../models.ts';
import { contentUrl } from './content-url.ts';

/** The shown file among the files of its folder, in the order of the folder. */
export interface Gallery {
  readonly entry: FileEntry | undefined;
  /** The position from 0; -1 if the folder does not show the file. */
  readonly index: number;
  readonly count: number;
  readonly previous: FileEntry | undefined;
  readonly next: FileEntry | undefined;
}

export function useGallery(path: string): Gallery {
  const folder = useFolder();
  const files = useComputed(() => folder.entries.value.filter((entry): entry is FileEntry => entry.type === 'file'));
  const lastIndex = useRef(-1);

  const all = files.value;
  const index = all.findIndex((file) => file.path === path);
  if (index >= 0) lastIndex.current = index;
  // If the file disappears, its neighbours stay reachable.
  const after = index >= 0 ? index + 1 : lastIndex.current;
  const before = (index >= 0 ? index : lastIndex.current) - 1;
  const found = folder.entryOf(path);
  return {
    entry: found?.type === 'file' ? found : undefined,
    index,
    count: all.length,
    previous: all[before],
    next: after < 0 ? undefined : all[after],
  };
}

/** The maximum size in bytes of a preloaded image. */
const MAX_PRELOADED_BYTES = 12e6;

/** Preloads the images before and after a file, except SVG: drawing one can block the page. */
export function preloadNeighbours({ path }: FileEntry, folder: Folder, urls: Urls): void {
  const files = folder.entries.peek().filter((entry) => entry.type === 'file');
  const index = files.findIndex((file) => file.path === path);
  for (const file of [files[index + 1], files[index - 1]]) {
    if (!file || file.size > MAX_PRELOADED_BYTES || isSvg(file) || previewKindOf(file) !== 'image') continue;
    // Browsers finish loading an image element without references.
    new Image().src = contentUrl(urls, file);
  }
}
