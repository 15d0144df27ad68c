import { useRef } from 'preact/hooks';
import { open } from '../actions/actions.ts';
import { contextMenu } from '../actions/context-menu.ts';
import { type Page, usePage } from '../page.ts';

/** Milliseconds after which a touch counts as a long press and selects. */
const LONG_PRESS = 450;
/** Pixels that the finger may move during a long press. */
const TOLERANCE = 10;

/** Returns the pointer event listeners of the grid. */
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
    onPointerUp: (event: PointerEvent) => current.end(event),
    onPointerCancel: (event: PointerEvent) => current.end(event),

    onClick(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event)) return;
      if (current.wasLong) return;
      if (closest(event, '[data-more]')) openMenu(page, path, boxOf(event));
      else if (closest(event, '[data-check]')) check(page, path, event);
      else if (isByTouch(event, current)) tap(page, path);
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
      // A long press by touch selects instead, see `Press`.
      if (current.isTouch) return;
      // A `contextmenu` event from the keyboard has no position.
      const isByKey = event.button !== 2 && event.clientX <= 0;
      openMenu(page, path, isByKey ? boxOf(event, '[data-path]') : pointOf(event));
    },
    onFocusIn(event: FocusEvent) {
      const path = pathAt(event);
      if (path !== undefined) page.folder.focused.value = path;
    },
  };
}

/**
 * Returns whether a finger or pen clicked. Older browsers report the pointer type only on the press before the click.
 */
function isByTouch(event: MouseEvent, { isTouch }: Press): boolean {
  const isKnown = event instanceof PointerEvent && event.pointerType !== '';
  return isKnown ? event.pointerType !== 'mouse' : isTouch;
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

/** A press of one finger or pen that may become a long press. Other pointers neither move nor end it. */
class Press {
  isTouch = false;
  /** Whether the last press was long, so that its click must be ignored. */
  wasLong = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #start: PointerEvent | undefined;

  begin(event: PointerEvent, onLong: () => void): void {
    clearTimeout(this.#timer);
    this.isTouch = true;
    this.wasLong = false;
    this.#start = event;
    // A second finger starts a gesture of the browser.
    if (!event.isPrimary) return;
    this.#timer = setTimeout(() => {
      this.wasLong = true;
      onLong();
    }, LONG_PRESS);
  }

  move(event: PointerEvent): void {
    const { clientX = 0, clientY = 0 } = this.#start ?? {};
    if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > TOLERANCE) this.end(event);
  }

  end({ pointerId }: PointerEvent): void {
    if (pointerId === this.#start?.pointerId) clearTimeout(this.#timer);
  }
}

export type Box = { left: number; top: number; right: number; bottom: number };

function boxOf(event: Event, selector = 'button'): Box {
  const { left, top, right, bottom } = closest(event, selector)?.getBoundingClientRect() ?? new DOMRect();
  return { left, top, right, bottom };
}

/** Returns the pointer position as an empty box. */
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
