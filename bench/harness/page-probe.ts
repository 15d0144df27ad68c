/*
 * What runs in the page itself, sent there as source text: each function has all it needs in itself. Of the browser's
 * interfaces, these few are declared, as the program has the types of Node.js alone.
 */

interface PageElement {
  readonly textContent: string | null;
  readonly scrollHeight: number;
  scrollTop: number;
}

interface LongFrame {
  readonly startTime: number;
  readonly duration: number;
}

declare const document: {
  readonly readyState: string;
  readonly documentElement: { readonly dataset: Readonly<Record<string, string | undefined>> };
  readonly scrollingElement: PageElement | null;
  querySelector(selectors: string): PageElement | null;
  querySelectorAll(selectors: string): Iterable<PageElement>;
};
declare const PerformanceObserver: new (
  observe: (list: { getEntries(): readonly LongFrame[] }) => void,
) => { observe(options: { readonly type: string; readonly buffered: boolean }): void };
declare function requestAnimationFrame(callback: (time: number) => void): number;

/** How the page of one server is read. */
export interface PageShape {
  /** The selector of rows. */
  readonly rows: string;
  /** What the text of each entry's row has in it; a row of headings has not. */
  readonly entryText: string;
  /** When all entries are there: when the page says so of its listing, or when the document is loaded. */
  readonly complete: 'listing' | 'document';
}

/** Milliseconds since the navigation began. */
export interface Arrival {
  /** A row of an entry is on the screen. */
  readonly firstRow: number;
  /** All entries are there and nothing holds the page up any more. */
  readonly interactive: number;
}

/** Where `watchArrival` leaves what it saw. */
export interface Probed {
  arrival?: Promise<Arrival>;
}

/**
 * Begins to watch; runs before the page's own scripts. The page is interactive when it was quiet for half a second after
 * that moment: a row is shown, all entries are there, and no frame took 50 ms (Long Animation Frames API).
 */
export function watchArrival({ rows, entryText, complete }: PageShape): void {
  const quiet = 500;
  const seen: { firstRow?: number; complete?: number; lastLongFrame: number } = { lastLongFrame: 0 };
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      seen.lastLongFrame = Math.max(seen.lastLongFrame, startTime + duration);
    }
  });
  observer.observe({ type: 'long-animation-frame', buffered: true });

  const hasRow = () => {
    let looked = 0;
    for (const row of document.querySelectorAll(rows)) {
      if (row.textContent?.includes(entryText)) return true;
      // Behind the headings, if at all.
      if (++looked === 5) return false;
    }
    return false;
  };
  const isComplete = () =>
    complete === 'listing'
      ? document.documentElement.dataset['listing'] === 'complete'
      : document.readyState === 'complete';
  const arrival = new Promise<Arrival>((resolve) => {
    const look = () => {
      // A task of its own comes after the frame that this callback is part of.
      if (seen.firstRow === undefined && hasRow()) setTimeout(() => (seen.firstRow ??= performance.now()));
      if (seen.complete === undefined && isComplete()) seen.complete = performance.now();
      if (seen.firstRow !== undefined && seen.complete !== undefined) {
        const interactive = Math.max(seen.firstRow, seen.complete, seen.lastLongFrame);
        if (performance.now() - interactive >= quiet) return resolve({ firstRow: seen.firstRow, interactive });
      }
      requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  Object.assign(globalThis, { probed: { arrival } satisfies Probed });
}

/** Scrolls from the top to the end in so many equal steps, one a frame; gives the milliseconds between the frames. */
export async function scrollToEnd(steps: number): Promise<number[]> {
  const scroller = document.querySelector('[data-scroller]') ?? document.scrollingElement;
  if (!scroller) throw new Error('nothing to scroll');
  const frame = () => new Promise<number>((resolve) => void requestAnimationFrame(resolve));
  const end = scroller.scrollHeight;
  const gaps: number[] = [];
  let before = await frame();
  for (let step = 1; step <= steps; step++) {
    scroller.scrollTop = (end * step) / steps;
    const now = await frame();
    gaps.push(now - before);
    before = now;
  }
  if (scroller.scrollTop === 0) throw new Error('it does not scroll');
  return gaps;
}
