import type { FolderPath } from '../../model/path.ts';
import type { Store } from '../../model/store.ts';
import { notFound } from '../../model/store-errors.ts';
import { bodyIn, pathIn, wrap } from '../layers/wrap.ts';
import type { Key } from './keys.ts';

/** Holdall's own folder, below the prefix of the bucket. It is never listed and never addressable. */
export const OWN_FOLDER = '.holdall/' as FolderPath;

/** The first possible key after all keys of the own folder. */
export const AFTER_OWN_FOLDER: Key = `${OWN_FOLDER}\u{10ffff}`;

/** Returns whether a key or path is the own folder, is in it, or is a file of its name. */
export const isOwn = (key: Key): boolean => key.startsWith(OWN_FOLDER) || `${key}/` === OWN_FOLDER;

/** Returns the store without access to the own folder: for each member, its paths don't exist. */
export function hideOwnFolder(store: Store): Store {
  return wrap(store, {
    async call(_member, run, args) {
      const own = args.map(pathIn).find((path) => path !== undefined && isOwn(path));
      if (own === undefined) return run();
      bodyIn(args)?.destroy();
      throw notFound(own);
    },
    walk: (run, folder) => (isOwn(folder) ? none() : run()),
  });
}

async function* none(): AsyncGenerator<never> {}
