import { isDialogInFront } from './writing.ts';

/*
 * Regions of the page bear `data-region`, with a name where something else moves the focus there. F6 leads from one to
 * the next that has something to focus, Shift-F6 back.
 */

/** Listens for F6 until the function that it gives is called. */
export function watchRegionKeys(): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  window.addEventListener('focusin', remember, { signal });
  window.addEventListener('keydown', moveOn, { signal });
  return () => listening.abort();
}

/** Focuses what was focused last in a region, else the first that can be. */
export function focusRegion(name: string): void {
  const region = document.querySelector(`[data-region="${name}"]`);
  if (region) stopIn(region)?.focus();
}

/** What was focused last in each region. */
const visited = new WeakMap<Element, HTMLElement>();

function remember({ target }: FocusEvent): void {
  if (!(target instanceof HTMLElement)) return;
  const region = regionOf(target);
  if (region) visited.set(region, target);
}

function moveOn(event: KeyboardEvent): void {
  if (event.key !== 'F6' || event.ctrlKey || event.metaKey || event.altKey || isDialogInFront()) return;
  event.preventDefault();
  const regions = [...document.querySelectorAll('[data-region]')];
  const current = document.activeElement && regionOf(document.activeElement);
  const others = regions.filter((region) => region === current || stopIn(region) !== undefined);
  const place = others.findIndex((region) => region === current);
  const step = event.shiftKey ? Math.max(place, 0) + others.length - 1 : place + 1;
  const next = others[step % others.length];
  if (next) stopIn(next)?.focus();
}

const regionOf = (element: Element) => element.closest('[data-region]');

const FOCUSABLE = 'a[href], button, input, select, textarea, [tabindex]';

function stopIn(region: Element): HTMLElement | undefined {
  const last = visited.get(region);
  if (last && region.contains(last) && isStop(last)) return last;
  // Where the arrows move the focus, the one that Tab leads to comes before whatever else there is.
  const roving = [...region.querySelectorAll<HTMLElement>('[tabindex="0"]')].find(isStop);
  return roving ?? [...region.querySelectorAll<HTMLElement>(FOCUSABLE)].find(isStop);
}

function isStop(element: HTMLElement): boolean {
  return (
    element.tabIndex >= 0 && !element.matches(':disabled') && element.checkVisibility({ visibilityProperty: true })
  );
}
