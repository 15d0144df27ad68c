import type { OpenMenu } from './menus.ts';

/** Pixels that are left free at the edges of the window, and between a menu and what it belongs to. */
const MARGIN = 8;
const GAP = 4;

/**
 * Puts a menu below what it belongs to, from where that begins in the direction of reading; above or to the other side
 * where there is no room. Sheets have their place already.
 */
export function placeMenu(menu: HTMLElement, at: OpenMenu['at']): void {
  const { direction, position } = getComputedStyle(menu);
  if (position !== 'fixed') {
    menu.style.left = '';
    menu.style.top = '';
    return;
  }
  const { offsetWidth: width, offsetHeight: height } = menu;
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
