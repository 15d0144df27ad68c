/** Milliseconds that something may take which is then likely to be in the system's memory, and to come from there. */
const QUICK = 50;

/** Milliseconds after which what was not used again is forgotten; within twice as many it is. */
const KEPT = 15_000;

/** How many places are remembered, twice: a few megabytes. */
const MOST = 10_000;

/** What the disk was asked for a moment ago, and was quick to give. */
export interface Familiar {
  has(place: string): boolean;
  /** Remembers a place, unless it took long: a disk that is slow each time is not to be waited for. */
  note(place: string, milliseconds: number): void;
}

/** `now` gives milliseconds since some moment. */
export function createFamiliar(now: () => number = () => performance.now()): Familiar {
  let recent = new Set<string>();
  let former = new Set<string>();
  let since = now();

  const age = () => {
    const isOld = now() - since > KEPT;
    if (!isOld && recent.size < MOST) return;
    // Nobody came for so long that both are old.
    former = now() - since > 2 * KEPT ? new Set() : recent;
    recent = new Set();
    since = now();
  };

  return {
    has(place) {
      age();
      if (recent.has(place)) return true;
      if (!former.has(place)) return false;
      recent.add(place);
      return true;
    },
    note(place, milliseconds) {
      if (milliseconds < QUICK) recent.add(place);
    },
  };
}
