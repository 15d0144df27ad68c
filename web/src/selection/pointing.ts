import { useRef } from 'preact/hooks';
import { open } from '../actions/actions.ts';
import { contextMenu } from '../actions/context-menu.ts';
import { type Page, usePage } from '../page.ts';

/** Milliseconds for which a finger has to stay to select. */
const LONG_PRESS = 450;
/** Pixels that it may move meanwhile. */
const TOLERANCE = 10;

/** What the mouse, a pen and fingers do to the entries of a grid, as the listeners of its element. */
export function usePointing() {
  const page = usePage();
  const press = useRef(new Press());
  const { current } = press;

  return {
    onPointerDown(event: PointerEvent) {
      const path = pathAt(event);
      if (event.pointerType !== 'mouse' && path !== undefined) current.begin(event, () => select(page, path));
      else current.isTouch = false;
    },
    onPointerMove: (event: PointerEvent) => current.move(event),
    onPointerUp: () => current.end(),
    onPointerCancel: () => current.end(),

    onClick(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event)) return;
      if (current.wasLong) return;
      if (closest(event, '[data-more]')) openMenu(page, path, boxOf(event));
      else if (closest(event, '[data-check]')) check(page, path, event);
      else if (current.isTouch) tap(page, path);
      else click(page, path, event);
    },
    onDblClick(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event) || current.isTouch || closest(event, 'button, [data-check]')) return;
      open(page, page.folder.entryOf(path));
    },
    onAuxClick(event: MouseEvent) {
      const entry = page.folder.entryOf(pathAt(event) ?? '');
      if (event.button !== 1 || !entry) return;
      event.preventDefault();
      const { urls } = page;
      window.open(entry.type === 'folder' ? urls.page(entry.path) : urls.file(entry.path), '_blank', 'noopener');
    },
    onContextMenu(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event)) return;
      event.preventDefault();
      // A finger that stays selects, which `Press` sees to.
      if (current.isTouch) return;
      // By the keyboard it comes without a place.
      const isByKey = event.button !== 2 && event.clientX <= 0;
      openMenu(page, path, isByKey ? boxOf(event, '[data-path]') : pointOf(event));
    },
    onFocusIn(event: FocusEvent) {
      const path = pathAt(event);
      if (path !== undefined) page.folder.focused.value = path;
    },
  };
}

function click({ selection }: Page, path: string, event: MouseEvent): void {
  const isAdded = event.ctrlKey || event.metaKey;
  if (event.shiftKey) selection.extendTo(path, isAdded);
  else if (isAdded) selection.toggle(path);
  else selection.only(path);
}

function check({ selection }: Page, path: string, event: MouseEvent): void {
  if (event.shiftKey) selection.extendTo(path, true);
  else selection.toggle(path);
}

function tap(page: Page, path: string): void {
  if (page.selection.count.value > 0) page.selection.toggle(path);
  else open(page, page.folder.entryOf(path));
}

function select({ selection, folder }: Page, path: string): void {
  folder.focused.value = path;
  selection.toggle(path);
  navigator.vibrate?.(10);
}

function openMenu(page: Page, path: string, at: Box): void {
  if (!page.selection.paths.value.has(path)) page.selection.only(path);
  page.folder.focused.value = path;
  contextMenu(page, at);
}

/** One touch, from the finger's coming to its going. */
class Press {
  isTouch = false;
  /** Whether the last one was long, so that its click means nothing. */
  wasLong = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #start = { x: 0, y: 0 };

  begin({ clientX, clientY }: PointerEvent, onLong: () => void): void {
    this.end();
    this.isTouch = true;
    this.wasLong = false;
    this.#start = { x: clientX, y: clientY };
    this.#timer = setTimeout(() => {
      this.wasLong = true;
      onLong();
    }, LONG_PRESS);
  }

  move({ clientX, clientY }: PointerEvent): void {
    if (Math.hypot(clientX - this.#start.x, clientY - this.#start.y) > TOLERANCE) this.end();
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

export type Box = { left: number; top: number; right: number; bottom: number };

function boxOf(event: Event, selector = 'button'): Box {
  const { left, top, right, bottom } = closest(event, selector)?.getBoundingClientRect() ?? new DOMRect();
  return { left, top, right, bottom };
}

/** Where the mouse was, as a box without extent. */
export function pointOf({ clientX, clientY }: MouseEvent): Box {
  return { left: clientX, top: clientY, right: clientX, bottom: clientY };
}

function pathAt(event: Event): string | undefined {
  return closest(event, '[data-path]')?.dataset['path'];
}

const isInField = (event: Event) => closest(event, 'input') !== undefined;

function closest({ target }: Event, selector: string): HTMLElement | undefined {
  return target instanceof Element ? (target.closest<HTMLElement>(selector) ?? undefined) : undefined;
}
