import type { OpenMenu } from './menus.ts';

/** Minimum distance in pixels of a menu from the edges of the window, and its distance from the element that opened it. */
const MARGIN = 8;
const GAP = 4;

/**
 * Places a menu below the element or point that opened it, aligned to its start in reading direction. Without space there,
 * the menu is above it, or aligned to its other side. Style sheets place menus that are not fixed (sheets on phones).
 */
export function placeMenu(menu: HTMLElement, at: OpenMenu['at']): void {
  const style = getComputedStyle(menu);
  const { direction, position } = style;
  if (position !== 'fixed') {
    menu.style.left = '';
    menu.style.top = '';
    return;
  }
  // Rounded up: `offsetWidth` can be half a pixel too small, and a bounding rectangle changes during the opening animation.
  const [width, height] = [Math.ceil(Number.parseFloat(style.width)), Math.ceil(Number.parseFloat(style.height))];
  const gap = at.bottom > at.top ? GAP : 0;

  const below = at.bottom + gap;
  const above = at.top - gap - height;
  const top = below + height <= window.innerHeight - MARGIN || above < MARGIN ? below : above;

  const isFromLeft = direction === 'ltr' ? fitsFromLeft(at.left, width) : at.right - width < MARGIN;
  const left = isFromLeft ? at.left : at.right - width;

  menu.style.left = `${within(left, window.innerWidth - width)}px`;
  menu.style.top = `${within(top, window.innerHeight - height)}px`;
}

const fitsFromLeft = (left: number, width: number) => left + width <= window.innerWidth - MARGIN;

const within = (value: number, end: number) => Math.max(MARGIN, Math.min(value, end - MARGIN));
