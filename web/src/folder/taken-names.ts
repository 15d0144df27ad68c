import { entriesIn } from '../service/find-entry.ts';
import type { Service } from '../service/service.ts';
import type { Folder } from './folder.ts';

/** Which names are taken, as far as is known without trying them in vain: the service has the last word. */
export interface TakenNames {
  /** Whether there is a file or a folder of the name. */
  isTaken(folder: string, name: string): boolean;
  /** Whether there is a file of the name. */
  isFile(folder: string, name: string): boolean;
  /** Remembers that a path is taken, or promised to somebody. A folder's has a "/" at its end. */
  take(path: string): void;
  /** Looks up what there is in a folder; once, until all is forgotten. Never throws: what is not known is tried. */
  learn(folder: string): Promise<void>;
  forget(): void;
}

export function createTakenNames(
  service: Pick<Service, 'list'>,
  folder: Pick<Folder, 'path' | 'listing' | 'entryOf'>,
): TakenNames {
  let taken = new Set<string>();
  let learnt = new Map<string, Promise<void>>();

  const isThere = (path: string) => taken.has(path) || folder.entryOf(path) !== undefined;
  const look = async (path: string) => {
    const found = taken;
    for await (const entry of entriesIn(service, path)) found.add(entry.path);
  };

  return {
    isTaken: (path, name) => isThere(path + name) || isThere(`${path}${name}/`),
    isFile: (path, name) => isThere(path + name),
    take: (path) => void taken.add(path),
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
