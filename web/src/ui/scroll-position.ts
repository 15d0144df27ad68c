/**
 * Pixels of the tallest element that Holdall renders. Browsers limit the height of elements, Firefox to 17,895,697 CSS
 * pixels, and zoom lowers the limit.
 */
export const MAX_HEIGHT = 8_000_000;

type Scroller = Pick<HTMLElement, 'scrollTop' | 'scrollHeight' | 'clientHeight'>;

/**
 * The scroll position among rows that can be taller together than an element. `top` is the position among all rows, and
 * `origin` is the part of it that the browser's `scrollTop` does not contain. Rows are rendered at their position minus
 * `origin`. Scrolling by the wheel moves the rows by the same distance; longer jumps are proportional.
 */
export class ScrollPosition {
  /** Pixels of all rows. */
  height = 0;
  origin = 0;
  #last = 0;

  readonly #scroller: () => Scroller | null;

  constructor(scroller: () => Scroller | null) {
    this.#scroller = scroller;
  }

  get top(): number {
    return this.origin + (this.#scroller()?.scrollTop ?? 0);
  }

  set top(wanted: number) {
    const element = this.#scroller();
    if (!element) return;
    const { hidden, max } = this.#sizes(element);
    const top = hidden === 0 ? wanted : Math.max(0, Math.min(wanted, max + hidden));
    element.scrollTop = hidden === 0 ? top : (top * max) / (max + hidden);
    this.origin = hidden === 0 ? 0 : top - element.scrollTop;
    this.#last = element.scrollTop;
  }

  /** Takes over the browser's position after a scroll event. */
  update(): void {
    const element = this.#scroller();
    if (!element) return;
    const { hidden, max } = this.#sizes(element);
    const { scrollTop } = element;
    const isJump = Math.abs(scrollTop - this.#last) > element.clientHeight;
    this.#last = scrollTop;
    if (hidden === 0) this.origin = 0;
    else if (isJump) this.origin = (scrollTop * hidden) / max;
    // At an end of the element, but not of the rows.
    else if ((scrollTop <= 0 && this.origin > 0) || (scrollTop >= max - 1 && this.origin < hidden - 1)) this.align();
  }

  /** Moves the scroll bar to the position of the rows, without moving the rows. */
  align(): void {
    const { top } = this;
    if (this.origin > 0 || this.height > MAX_HEIGHT) this.top = top;
  }

  /** Returns the pixels of the rows that the element is too short for, and the greatest `scrollTop`. */
  #sizes(element: Scroller): { hidden: number; max: number } {
    const hidden = Math.max(0, this.height - MAX_HEIGHT);
    return { hidden, max: Math.max(1, element.scrollHeight - element.clientHeight) };
  }
}
