/*
 * Functions that run in the page. They are sent as source text, so they use nothing outside of themselves. The few types of
 * the browser are declared here, because the program has only those of Node.js.
 */

interface Box {
  readonly top: number;
  readonly bottom: number;
  readonly width: number;
}

interface PageElement {
  querySelector(selectors: string): PageImage | null;
  getBoundingClientRect(): Box;
}

interface PageImage extends PageElement {
  readonly alt: string | undefined;
  readonly width: number;
  readonly complete: boolean;
  readonly naturalWidth: number;
  checkVisibility(options: { readonly checkOpacity: boolean }): boolean;
  getAttribute(name: string): string | null;
  /** Canvases lack it. */
  decode?(): Promise<void>;
}

declare const document: {
  querySelectorAll(selectors: string): Iterable<PageElement & PageImage>;
  addEventListener(type: string, listener: (event: { timeStamp: number }) => void, options: object): void;
};
declare const innerHeight: number;
declare function requestAnimationFrame(callback: (time: number) => void): number;

/** The results of the functions below. */
export interface ProbedPhotos {
  tiles?: Promise<number>;
  photo?: Promise<number>;
}

/**
 * Starts the measurement before the scripts of the page: milliseconds from the navigation to the frame in which each tile
 * in the window has its picture.
 */
export function watchTiles(): void {
  const isInWindow = ({ top, bottom, width }: Box) => width > 0 && bottom > 0 && top < innerHeight;
  const isComplete = () => {
    const tiles = [...document.querySelectorAll('[role="gridcell"]')];
    const shown = tiles.filter((tile) => isInWindow(tile.getBoundingClientRect()));
    return (
      shown.length > 5 &&
      shown.every((tile) => {
        const image = tile.querySelector('img');
        return image?.complete === true && image.naturalWidth > 0;
      })
    );
  };
  const tiles = new Promise<number>((resolve) => {
    const look = () => {
      // A new task runs after the frame of this callback.
      if (isComplete()) setTimeout(() => resolve(performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  Object.assign(globalThis, { probed: { tiles } satisfies ProbedPhotos });
}

/**
 * Measures the milliseconds from the next key to the frame in which the viewer shows the decoded photo of this name. A
 * thumbnail does not count.
 */
export function watchPhoto(name: string): void {
  const minWidth = 1000;
  // Images have these sizes once they are loaded, and canvases once they are drawn.
  const find = () =>
    [...document.querySelectorAll('dialog :is(img, canvas)')].find(
      (image) =>
        (image.alt ?? image.getAttribute('aria-label')) === name &&
        (image.alt === undefined ? image.width : image.complete ? image.naturalWidth : 0) >= minWidth &&
        image.checkVisibility({ checkOpacity: true }),
    );
  const frame = () => new Promise<number>((resolve) => void requestAnimationFrame(resolve));
  const photo = new Promise<number>((resolve) => {
    const onKey = async ({ timeStamp }: { timeStamp: number }) => {
      let image: PageImage | undefined;
      while (!(image = find())) await frame();
      await image.decode?.();
      await frame();
      setTimeout(() => resolve(performance.now() - timeStamp));
    };
    document.addEventListener('keydown', (event) => void onKey(event), { capture: true, once: true });
  });
  Object.assign(globalThis, { probed: { photo } satisfies ProbedPhotos });
}
