import type { Folder } from '../folder/folder.ts';
import type { Service } from '../service/service.ts';

/** Which names are taken, as far as is known without sending a file in vain: the service has the last word. */
export interface TakenNames {
  isTaken(folder: string, name: string): boolean;
  /** Remembers that a name is taken, or promised to somebody. */
  take(folder: string, name: string): void;
  /** Looks up which names are taken in a folder; once, until all is forgotten. Never throws. */
  learn(folder: string): Promise<void>;
  forget(): void;
}

/** Pages of a listing that are looked up: beyond, the service is asked about each name. */
const PAGES = 20;

export function createTakenNames(
  service: Pick<Service, 'list'>,
  folder: Pick<Folder, 'path' | 'listing' | 'entryOf'>,
): TakenNames {
  let taken = new Set<string>();
  let learnt = new Map<string, Promise<void>>();

  const look = async (path: string) => {
    let cursor: string | undefined;
    for (let page = 0; page < PAGES && (page === 0 || cursor !== undefined); page++) {
      const listing = await service.list(path, { cursor });
      for (const entry of listing.entries) if (entry.type === 'file') taken.add(entry.path);
      cursor = listing.cursor;
    }
  };

  return {
    isTaken: (path, name) => taken.has(path + name) || folder.entryOf(path + name)?.type === 'file',
    take: (path, name) => void taken.add(path + name),
    learn(path) {
      if (folder.path.value === path && folder.listing.value === 'complete') return Promise.resolve();
      const known = learnt.get(path) ?? look(path).catch(() => {});
      learnt.set(path, known);
      return known;
    },
    forget() {
      taken = new Set();
      learnt = new Map();
    },
  };
}
