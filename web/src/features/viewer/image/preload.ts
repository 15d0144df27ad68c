import type { Folder } from '../../../model/folder/folder.ts';
import type { FileEntry } from '../../../platform/service/service.ts';
import type { Urls } from '../../../platform/service/urls.ts';
import { previewKindOf } from '../preview-kind.ts';

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
