import { useRef } from 'preact/hooks';
import type { Selection } from '../../model/selection.ts';
import type { Box } from '../../ui/placement.ts';
import { useActions } from '../actions/actions.ts';
import { useFolder, useSelection, useUrls } from '../models.ts';

/** Milliseconds after which a touch counts as a long press and selects. */
const LONG_PRESS_MS = 450;
/** Pixels that the finger can move during a long press. */
const TOLERANCE = 10;

/** Returns the pointer event listeners of the grid. */
export function usePointing() {
  const actions = useActions();
  const folder = useFolder();
  const selection = useSelection();
  const urls = useUrls();
  const press = useRef(new Press());
  const { current } = press;

  /** Selects by a long press. */
  const select = (path: string) => {
    folder.focused.value = path;
    selection.toggle(path);
    navigator.vibrate?.(10);
  };
  const tap = (path: string) => {
    if (selection.count.value > 0) selection.toggle(path);
    else actions.open(folder.entryOf(path));
  };
  const openMenu = (path: string, anchor: Box) => {
    if (!selection.paths.value.has(path)) selection.only(path);
    folder.focused.value = path;
    actions.openMenu(anchor);
  };

  return {
    onPointerDown(event: PointerEvent) {
      const path = pathAt(event);
      if (event.pointerType !== 'mouse' && path !== undefined) current.begin(event, () => select(path));
      else current.isTouch = false;
    },
    onPointerMove: (event: PointerEvent) => current.move(event),
    onPointerUp: (event: PointerEvent) => current.end(event),
    onPointerCancel: (event: PointerEvent) => current.end(event),

    onClick(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event)) return;
      if (current.wasLong) return;
      if (closest(event, '[data-more]')) openMenu(path, boxOf(event));
      else if (closest(event, '[data-check]')) check(selection, path, event);
      else if (isByTouch(event, current)) tap(path);
      else click(selection, path, event);
    },
    onDblClick(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event) || current.isTouch || closest(event, 'button, [data-check]')) return;
      actions.open(folder.entryOf(path));
    },
    onAuxClick(event: MouseEvent) {
      const entry = folder.entryOf(pathAt(event) ?? '');
      if (event.button !== 1 || !entry) return;
      event.preventDefault();
      window.open(entry.type === 'folder' ? urls.page(entry.path) : urls.file(entry.path), '_blank', 'noopener');
    },
    onContextMenu(event: MouseEvent) {
      const path = pathAt(event);
      if (path === undefined || isInField(event)) return;
      event.preventDefault();
      // A long press by touch selects instead, see `Press`.
      if (current.isTouch) return;
      // From the keyboard, the position of the event depends on the browser. On a Mac, Ctrl and a click open the menu.
      const isByKey = event.button !== 2 && !event.ctrlKey;
      openMenu(path, isByKey ? boxOf(event, '[data-path]') : pointOf(event));
    },
    onFocusIn(event: FocusEvent) {
      const path = pathAt(event);
      if (path !== undefined) folder.focused.value = path;
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

function click(selection: Selection, path: string, event: MouseEvent): void {
  const isAdded = event.ctrlKey || event.metaKey;
  if (event.shiftKey) selection.extendTo(path, isAdded);
  else if (isAdded) selection.toggle(path);
  else selection.only(path);
}

function check(selection: Selection, path: string, event: MouseEvent): void {
  if (event.shiftKey) selection.extendTo(path, true);
  else selection.toggle(path);
}

/** A press of one finger or pen that can become a long press. Other pointers neither move nor end it. */
class Press {
  isTouch = false;
  /** Whether the last press was long, so its click must be ignored. */
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
    }, LONG_PRESS_MS);
  }

  move(event: PointerEvent): void {
    const { clientX = 0, clientY = 0 } = this.#start ?? {};
    if (Math.hypot(event.clientX - clientX, event.clientY - clientY) > TOLERANCE) this.end(event);
  }

  end({ pointerId }: PointerEvent): void {
    if (pointerId === this.#start?.pointerId) clearTimeout(this.#timer);
  }
}

function boxOf(event: Event, selector = 'button'): Box {
  return closest(event, selector)?.getBoundingClientRect() ?? new DOMRect();
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
