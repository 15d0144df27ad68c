/*
 * Functions that run in the page. They are sent as source text, so they use nothing outside of themselves. The few types of
 * the browser are declared here, because the program has only those of Node.js.
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

/** How to read the page of one server. */
export interface PageShape {
  /** The selector of rows. */
  readonly rows: string;
  /** A text in the row of each entry, but not in the row of headings. */
  readonly entryText: string;
  /** When the page has all entries: when it says so, or when the document is loaded. */
  readonly complete: 'listing' | 'document';
}

/** Milliseconds since the start of the navigation. */
export interface Arrival {
  /** The first row of an entry is visible. */
  readonly firstRow: number;
  /** All entries are loaded, and the page is interactive. */
  readonly interactive: number;
}

/** The results of `watchArrival`. */
export interface Probed {
  arrival?: Promise<Arrival>;
}

/**
 * Starts the measurement, before the scripts of the page. The page is interactive at the first moment when a row is visible
 * and all entries are loaded, and after which no frame takes 50 ms for half a second (Long Animation Frames API).
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
      // After the headings, if there are any.
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
      // A new task runs after the frame of this callback.
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

/** Scrolls from the top to the end in equal steps, one per frame. Returns the milliseconds between frames. */
export async function scrollToEnd(steps: number): Promise<number[]> {
  const scroller = document.querySelector('.folder-view [data-scroller]') ?? document.scrollingElement;
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
