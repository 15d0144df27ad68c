import type { Folder } from '../folder/folder.ts';
import { nameOf } from '../paths.ts';
import type { Service } from '../service/service.ts';

/** The names that are taken in a folder, as far as they are known. */
export interface TakenNames {
  isTaken(name: string): boolean;
  /** A name that was found to be taken, or is given away. */
  add(name: string): void;
  /** Learns all that there are; once. */
  learn(): Promise<void>;
}

/** Pages of 1,000 after which no more are read: beyond, names are tried until one is free. */
const MAX_PAGES = 20;

export function createTakenNames(
  { service, folder }: { readonly service: Service; readonly folder: Folder },
  destination: string,
): TakenNames {
  const names = new Set<string>();
  let learning: Promise<void> | undefined;

  const isShown = (name: string) =>
    folder.path.value === destination &&
    [name, `${name}/`].some((end) => folder.entryOf(destination + end) !== undefined);

  const readAll = async () => {
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const listing = await service.list(destination, { cursor });
      for (const { path } of listing.entries) names.add(nameOf(path));
      ({ cursor } = listing);
      if (cursor === undefined) return;
    }
  };

  return {
    isTaken: (name) => names.has(name) || isShown(name),
    add: (name) => void names.add(name),
    learn() {
      // Without them, names are tried.
      learning ??= readAll().catch(() => {});
      return learning;
    },
  };
}
