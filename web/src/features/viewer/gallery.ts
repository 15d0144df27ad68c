import { useComputed } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFolder } from '../models.ts';

/** The shown file among the files of its folder, in the order of the folder. */
export interface Gallery {
  readonly entry: FileEntry | undefined;
  /** All files of the folder. */
  readonly files: readonly FileEntry[];
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
    files: all,
    index,
    count: all.length,
    previous: all[before],
    next: after < 0 ? undefined : all[after],
  };
}
