import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Makes a toolbar one stop of the Tab key, within which the arrows, Home and End move the focus.
 * https://www.w3.org/WAI/ARIA/apg/patterns/toolbar/
 */
export function useToolbarFocus(toolbar: RefObject<HTMLElement | null>) {
  const last = useRef<Element | null>(null);

  // After every drawing: buttons come and go.
  useLayoutEffect(() => {
    const stops = stopsOf(toolbar.current);
    const stop = stops.find((button) => button === last.current) ?? stops[0];
    for (const button of toolbar.current?.querySelectorAll('button') ?? []) button.tabIndex = button === stop ? 0 : -1;
  });

  return {
    onFocusIn({ target }: FocusEvent) {
      if (!(target instanceof HTMLElement)) return;
      for (const button of stopsOf(toolbar.current)) button.tabIndex = button === target ? 0 : -1;
      last.current = target;
    },
    onKeyDown(event: KeyboardEvent) {
      const stops = stopsOf(toolbar.current);
      const current = stops.findIndex((button) => button === document.activeElement);
      const next = routeOf(event.key, current, stops.length, isRightToLeft(toolbar.current));
      if (next === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      stops[next]?.focus();
    },
  };
}

function stopsOf(toolbar: HTMLElement | null): readonly HTMLElement[] {
  const buttons = [...(toolbar?.querySelectorAll('button') ?? [])];
  return buttons.filter((button) => !button.disabled && button.checkVisibility({ visibilityProperty: true }));
}

function isRightToLeft(element: HTMLElement | null): boolean {
  return element !== null && getComputedStyle(element).direction === 'rtl';
}

function routeOf(key: string, current: number, count: number, isMirrored: boolean): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return (current + (isMirrored ? count - 1 : 1)) % count;
    case 'ArrowLeft':
      return (current + (isMirrored ? 1 : count - 1)) % count;
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return undefined;
  }
}
