import type { ReadonlySignal } from '@preact/signals';
import type { Urls } from '../../platform/service/urls.ts';
import { createStoredPaths, type StoredPaths } from './stored-paths.ts';

/** The files and folders that this browser remembers, for each user. */
export interface Places {
  /** Files and folders with a star. */
  readonly favourites: StoredPaths;
  /** Files that the user opened, and folders. */
  readonly visited: StoredPaths;
  remapPaths(newPaths: ReadonlyMap<string, string>): void;
}

interface PlacesOptions {
  readonly urls: Pick<Urls, 'endpoint'>;
  readonly storage: Storage | undefined;
  /** The user; undefined without access control. */
  readonly username: ReadonlySignal<string | null> | undefined;
}

const MAX_FAVOURITES = 100;
const MAX_VISITED = 100;

export function createPlaces({ urls, storage, username }: PlacesOptions): Places {
  // Several services can have the same origin, below different paths.
  const base = new URL(urls.endpoint('')).pathname;
  const listOf = (name: string, limit: number) =>
    createStoredPaths({ storage, limit, tabs: window, key: () => `holdall-${name}:${base}:${username?.value ?? ''}` });
  const favourites = listOf('favourites', MAX_FAVOURITES);
  const visited = listOf('visited', MAX_VISITED);
  return {
    favourites,
    visited,
    remapPaths(newPaths) {
      favourites.remapPaths(newPaths);
      visited.remapPaths(newPaths);
    },
  };
}
