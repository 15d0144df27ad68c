/** Maximum scroll distance in pixels per frame. */
const MAX_STEP = 18;

/** Scrolls an element while the pointer is near its upper or lower edge, the faster the nearer. */
export class EdgeScroll {
  readonly #edge: number;
  #scroller: Element | null = null;
  #step = 0;
  #isScrolling = false;

  /** `edge` is the distance in pixels from an edge at which scrolling begins. */
  constructor(edge: number) {
    this.#edge = edge;
  }

  /** Starts, changes or pauses the scrolling for the vertical position of the pointer in the window. */
  update(scroller: Element | null, clientY: number): void {
    this.#scroller = scroller;
    this.#step = scroller ? this.#stepAt(scroller.getBoundingClientRect(), clientY) : 0;
    if (this.#step !== 0 && !this.#isScrolling) this.#scroll();
  }

  stop(): void {
    this.#step = 0;
  }

  readonly #scroll = () => {
    this.#isScrolling = this.#step !== 0;
    if (!this.#isScrolling) return;
    this.#scroller?.scrollBy({ top: this.#step, behavior: 'instant' });
    requestAnimationFrame(this.#scroll);
  };

  /** Returns the pixels per frame; negative values scroll up. */
  #stepAt({ top, bottom }: DOMRect, y: number): number {
    const beyond = Math.max(0, y - (bottom - this.#edge)) - Math.max(0, top + this.#edge - y);
    return Math.round(MAX_STEP * Math.max(-1, Math.min(1, beyond / this.#edge)));
  }
}
