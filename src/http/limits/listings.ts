import type { Files } from '../../domain/files.ts';
import { createPlaces } from '../../domain/places.ts';

/** Listings at once in a process: more than that of folders with many files only wait for each other. */
const LISTINGS = 32;

/** How many wait for their turn. */
const WAITING = 256;

/** The same files, of which only so many folders are listed at once; `unavailable` for those beyond the queue. */
export function limitListings(files: Files): Files {
  const places = createPlaces({ places: LISTINGS, queue: WAITING, crowd: 'Too many folders are listed' });
  return {
    ...files,
    async list(folder, options) {
      const leave = await places.enter(options?.signal);
      try {
        return await files.list(folder, options);
      } finally {
        leave();
      }
    },
  };
}
