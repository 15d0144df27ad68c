/** Opens folders that something is held over for a while. */
export interface Spring {
  /** Tells the folder that it is over now; null for none that could be opened. */
  over(folder: string | null): void;
  end(): void;
}

/** Milliseconds. */
const HOLD = 700;

export function createSpring(open: (folder: string) => void): Spring {
  let held: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = (folder: string | null) => {
    if (folder === held) return;
    held = folder;
    clearTimeout(timer);
    if (folder !== null) timer = setTimeout(() => open(folder), HOLD);
  };
  return { over, end: () => over(null) };
}
