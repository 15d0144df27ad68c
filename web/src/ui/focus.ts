import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { rowKeys } from './direction.ts';
import { isModalOpen } from './keyboard.ts';

/*
 * Regions of the page have the attribute `data-region`, with a name if other code moves the focus there. F6 focuses the
 * next region with a focusable element, Shift+F6 the previous one.
 */

/** The element of each region that was focused last. */
const lastFocused = new WeakMap<Element, HTMLElement>();

/** Moves the focus between regions by F6, for the lifetime of the page. */
export function watchRegionKeys(): void {
  window.addEventListener('focusin', ({ target }) => {
    const region = target instanceof HTMLElement && regionOf(target);
    if (region) lastFocused.set(region, target);
  });
  window.addEventListener('keydown', (event) => {
    if (event.key !== 'F6' || event.ctrlKey || event.metaKey || event.altKey || isModalOpen()) return;
    event.preventDefault();
    focusNextRegion(event.shiftKey);
  });
}

/** Focuses the element of a region that was focused last, otherwise its first focusable element. */
export function focusRegion(name: string): void {
  const region = document.querySelector(`[data-region="${name}"]`);
  if (region) tabStopOf(region)?.focus();
}

function focusNextRegion(isBackwards: boolean): void {
  const current = document.activeElement && regionOf(document.activeElement);
  const regions = [...document.querySelectorAll('[data-region]')].filter(
    (region) => region === current || tabStopOf(region) !== undefined,
  );
  const index = regions.findIndex((region) => region === current);
  const next = isBackwards ? Math.max(index, 0) + regions.length - 1 : index + 1;
  const region = regions[next % regions.length];
  if (region) tabStopOf(region)?.focus();
}

const regionOf = (element: Element) => element.closest('[data-region]');

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex]';

function tabStopOf(region: Element): HTMLElement | undefined {
  const last = lastFocused.get(region);
  if (last && region.contains(last) && isTabStop(last)) return last;
  // The current element of a grid or toolbar comes before the other elements of the region.
  const roving = [...region.querySelectorAll<HTMLElement>('[tabindex="0"]:not([role="separator"])')].find(isTabStop);
  return roving ?? [...region.querySelectorAll<HTMLElement>(FOCUSABLE)].find(isTabStop);
}

const isTabStop = (element: HTMLElement) =>
  element.tabIndex >= 0 && !element.matches(':disabled') && isVisible(element);

const isVisible = (element: Element) => element.checkVisibility({ visibilityProperty: true });

/**
 * Makes a toolbar one stop of the Tab key, in which the arrow keys, Home and End move the focus.
 * https://www.w3.org/WAI/ARIA/apg/patterns/toolbar/
 */
export function useToolbarFocus(toolbar: RefObject<HTMLElement | null>) {
  const last = useRef<Element | null>(null);
  const allButtons = () => [...(toolbar.current?.querySelectorAll('button') ?? [])];
  const usableButtons = () => allButtons().filter((button) => !button.disabled && isVisible(button));

  // After every render, because buttons are added and removed.
  useLayoutEffect(() => {
    const usable = usableButtons();
    const stop = usable.find((button) => button === last.current) ?? usable[0];
    for (const button of allButtons()) button.tabIndex = button === stop ? 0 : -1;
  });

  return {
    onFocusIn({ target }: FocusEvent) {
      if (!(target instanceof HTMLElement)) return;
      for (const button of usableButtons()) button.tabIndex = button === target ? 0 : -1;
      last.current = target;
    },
    onKeyDown(event: KeyboardEvent) {
      moveFocus(event, usableButtons(), rowKeys());
    },
  };
}

/** Moves the focus among elements by two arrow keys, Home and End. Returns whether the key was one of them. */
export function moveFocus(
  event: KeyboardEvent,
  elements: readonly HTMLElement[],
  keys: { readonly previous: string; readonly next: string },
): boolean {
  const current = elements.findIndex((element) => element === document.activeElement);
  const targets: Readonly<Record<string, number>> = {
    [keys.previous]: current <= 0 ? -1 : current - 1,
    [keys.next]: (current + 1) % elements.length,
    Home: 0,
    End: -1,
  };
  const target = targets[event.key];
  if (target === undefined) return false;
  event.preventDefault();
  event.stopPropagation();
  elements.at(target)?.focus();
  return true;
}
