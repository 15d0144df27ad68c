/** A box in pixels of the window. An empty box is a point. */
export type Box = Pick<DOMRectReadOnly, 'left' | 'top' | 'right' | 'bottom'>;

/** Minimum distance in pixels of a placed element from the edges of the window, and its distance from its anchor. */
const MARGIN = 8;
const GAP = 4;

/**
 * Places an element below its anchor, aligned to its start in reading direction. Without space there, the element is
 * above it, or aligned to its other side. Elements without `position: fixed` are placed by style sheets.
 */
export function placeBeside(element: HTMLElement, anchor: Box): void {
  // The previous position would limit the width.
  element.style.left = '';
  element.style.top = '';
  const style = getComputedStyle(element);
  if (style.position !== 'fixed') return;
  // Rounded up: `offsetWidth` can be half a pixel too small, and a bounding rectangle changes during the opening animation.
  const [width, height] = [Math.ceil(Number.parseFloat(style.width)), Math.ceil(Number.parseFloat(style.height))];
  const gap = anchor.bottom > anchor.top ? GAP : 0;

  const below = anchor.bottom + gap;
  const above = anchor.top - gap - height;
  const top = below + height <= window.innerHeight - MARGIN || above < MARGIN ? below : above;

  const fromRight = anchor.right - width;
  const isFromLeft = style.direction === 'ltr' ? anchor.left + width <= window.innerWidth - MARGIN : fromRight < MARGIN;
  const left = isFromLeft ? anchor.left : fromRight;

  element.style.left = `${within(left, window.innerWidth - width)}px`;
  element.style.top = `${within(top, window.innerHeight - height)}px`;
}

const within = (value: number, end: number) => Math.max(MARGIN, Math.min(value, end - MARGIN));
