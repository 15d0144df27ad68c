import { entriesIn } from '../../platform/service/pages.ts';
import type { Service } from '../../platform/service/service.ts';
import type { Folder } from './folder.ts';

/** The names that are known to be taken. The service makes the final decision. */
export interface TakenNames {
  /** Returns whether a file or a folder has the name. */
  isTaken(folder: string, name: string): boolean;
  /** Returns whether a file has the name. */
  isFile(folder: string, name: string): boolean;
  /** Records that a path is taken or reserved. The path of a folder ends with "/". */
  take(path: string): void;
  /** Lists a folder once, until `forget` is called. Never throws: the service detects conflicts with unknown names. */
  learn(folder: string): Promise<void>;
  forget(): void;
}

export function createTakenNames(
  service: Pick<Service, 'list'>,
  folder: Pick<Folder, 'path' | 'listing' | 'entryOf'>,
): TakenNames {
  let taken = new Set<string>();
  let listings = new Map<string, Promise<void>>();

  const exists = (path: string) => taken.has(path) || folder.entryOf(path) !== undefined;
  const list = async (path: string) => {
    // Entries that arrive after `forget` go to the forgotten set.
    const found = taken;
    for await (const entry of entriesIn(service, path)) found.add(entry.path);
  };

  return {
    isTaken: (path, name) => exists(path + name) || exists(`${path}${name}/`),
    isFile: (path, name) => exists(path + name),
    take: (path) => void taken.add(path),
    learn(path) {
      if (folder.path.value === path && folder.listing.value === 'complete') return Promise.resolve();
      const listing = listings.get(path) ?? list(path).catch(() => {});
      listings.set(path, listing);
      return listing;
    },
    forget() {
      taken = new Set();
      listings = new Map();
    },
  };
}
