import { useComputed } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import { useFolder } from '../models.ts';
import { previewKindOf } from './preview-kind.ts';

/** The file that is shown among those of its folder, in the order in which the folder shows them. */
export interface Gallery {
  readonly entry: FileEntry | undefined;
  /** Its place, from 0; -1 where the folder does not show it. */
  readonly place: number;
  readonly count: number;
  readonly previous: FileEntry | undefined;
  readonly next: FileEntry | undefined;
}

export function useGallery(path: string): Gallery {
  const folder = useFolder();
  const files = useComputed(() => folder.entries.value.filter((entry): entry is FileEntry => entry.type === 'file'));
  const lastPlace = useRef(-1);

  const all = files.value;
  const place = all.findIndex((file) => file.path === path);
  if (place >= 0) lastPlace.current = place;
  // Of a file that was there and is gone, its neighbours remain.
  const after = place >= 0 ? place + 1 : lastPlace.current;
  const before = (place >= 0 ? place : lastPlace.current) - 1;
  const found = folder.entryOf(path);
  return {
    entry: found?.type === 'file' ? found : undefined,
    place,
    count: all.length,
    previous: all[before],
    next: after < 0 ? undefined : all[after],
  };
}

/** Bytes up to which an image is loaded before anybody asks for it. */
const LIMIT = 12e6;

/** Loads the images before and after one, so that they are there when they are wanted. */
export function preloadNeighbours({ path }: FileEntry, folder: Folder, urls: Urls): void {
  const files = folder.entries.peek().filter((entry) => entry.type === 'file');
  const place = files.findIndex((file) => file.path === path);
  for (const file of [files[place + 1], files[place - 1]]) {
    // A browser lets an image go on loading of which nothing else is known any more.
    if (file && file.size <= LIMIT && previewKindOf(file) === 'image') new Image().src = urls.file(file.path);
  }
}
