/** Opens a folder when a drag rests on it, like Finder's spring-loaded folders. */
export interface Spring {
  /** Receives the folder below the pointer (null if it can't be opened) and the pointer's position in pixels. */
  over(folder: string | null, at: Point): void;
  end(): void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Milliseconds that the drag must rest on a folder. */
const DWELL_MS = 700;

/** Pixels that the pointer must move after a folder has opened, before the next one can open. */
const MIN_MOVE = 8;

export function createSpring(open: (folder: string) => void): Spring {
  let held: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: Point = { x: 0, y: 0 };
  /** The pointer's position when a folder opened; null once the pointer has moved away. */
  let openedAt: Point | null = null;

  const hold = (folder: string | null) => {
    if (folder === held) return;
    held = folder;
    clearTimeout(timer);
    if (folder === null) return;
    timer = setTimeout(() => {
      openedAt = last;
      held = null;
      open(folder);
    }, DWELL_MS);
  };
  return {
    over(folder, at) {
      last = at;
      // The list changed below a resting pointer, so the user has not pointed at the new entry.
      if (openedAt && Math.hypot(at.x - openedAt.x, at.y - openedAt.y) >= MIN_MOVE) openedAt = null;
      hold(openedAt ? null : folder);
    },
    end() {
      openedAt = null;
      hold(null);
    },
  };
}
