import { createPlaces } from '../../domain/places.ts';

/** Listings at once in a process: more than that of folders with many files only wait for each other. */
const LISTINGS = 32;

/** How many wait for their turn. */
const WAITING = 256;

/** Runs listings, only so many of them at once; throws `unavailable` for those beyond the queue. */
export type ListInTurn = <Listing>(list: () => Promise<Listing>, signal: AbortSignal) => Promise<Listing>;

export function limitListings(): ListInTurn {
  const places = createPlaces({ places: LISTINGS, queue: WAITING, crowd: 'Too many folders are listed' });
  return async (list, signal) => {
    const leave = await places.enter(signal);
    try {
      return await list();
    } finally {
      leave();
    }
  };
}
