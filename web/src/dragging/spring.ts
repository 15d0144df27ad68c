/** Opens a folder when a drag rests on it, as Finder's spring-loaded folders do. */
export interface Spring {
  /** Takes the folder below the pointer, or null for none that can be opened, and the pointer's position in pixels. */
  over(folder: string | null, at: Point): void;
  end(): void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Milliseconds that the drag has to rest on a folder. */
const DWELL_MS = 700;

/** Pixels that the pointer has to move after a folder has opened, before the next one can open. */
const MIN_MOVE = 8;

export function createSpring(open: (folder: string) => void): Spring {
  let held: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: Point = { x: 0, y: 0 };
  /** Where the pointer was when a folder opened; null once the pointer has moved away from there. */
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
      // The list has changed below a resting pointer: nobody has pointed at what is there now.
      if (openedAt && Math.hypot(at.x - openedAt.x, at.y - openedAt.y) >= MIN_MOVE) openedAt = null;
      hold(openedAt ? null : folder);
    },
    end() {
      openedAt = null;
      hold(null);
    },
  };
}
