import { options } from 'preact';
import type { Folder } from '../model/folder/folder.ts';
import type { Route, Router } from '../platform/router.ts';
import './transitions.css';

/** Milliseconds that a transition waits for its new contents at most. Meanwhile, the browser shows the old ones. */
const MAX_WAIT_MS = 150;
/** Milliseconds between two checks of the new contents. */
const CHECK_MS = 15;
/** Milliseconds within which the browser must capture the old contents. */
const MAX_CAPTURE_MS = 100;

const REDUCED_MOTION = window.matchMedia('(prefers-reduced-motion: reduce)');

/** Animates navigations from folder to folder, and from a picture to the viewer and back, where browsers can. */
export function animateNavigation({ router, folder }: { router: Router; folder: Folder }): void {
  if (!('startViewTransition' in document)) return;
  router.animateWith((navigate, from, to) => {
    last?.skipTransition();
    release();
    const kind = isSlow || REDUCED_MOTION.matches || document.hidden ? undefined : kindOf(from, to);
    const change = kind === 'folder' ? folderChange(folder, to) : kind && pictureChange(kind);
    if (!change) return navigate();
    last = animate(change, navigate);
    if (to.preview !== null) passPointer(last);
  });
}

const CLASSES = ['page-transition', 'of-folder', 'of-picture'];

let last: ViewTransition | undefined;

/** Whether this device took too long to capture the page once. Then navigations are no longer animated. */
let isSlow = false;

/** How the contents change. */
interface Change {
  /** A class of the root element. */
  readonly name: 'of-folder' | 'of-picture';
  /** The element that becomes the other one, on the old page. */
  readonly source?: HTMLElement | undefined;
  /** Returns whether the new contents are shown. */
  readonly isShown: () => boolean;
  /** Returns the element that the source becomes. */
  readonly target?: () => HTMLElement | undefined;
}

/** Returns which contents a navigation changes: the folder, or the picture with this path that opens or closes. */
function kindOf(from: Route, to: Route): 'folder' | { readonly path: string; readonly opens: boolean } | undefined {
  if (from.view || to.view) return undefined;
  if (from.folder !== to.folder) return from.preview === null && to.preview === null ? 'folder' : undefined;
  if (from.preview === null && to.preview !== null) return { path: to.preview, opens: true };
  return from.preview !== null && to.preview === null ? { path: from.preview, opens: false } : undefined;
}

const folderChange = ({ path, state }: Folder, to: Route): Change => ({
  name: 'of-folder',
  isShown: () => path.peek() === to.folder && state.peek() !== 'loading',
});

function pictureChange({ path, opens }: { path: string; opens: boolean }): Change | undefined {
  const inFolder = () =>
    visible(document.querySelector(`.folder-view [data-path="${CSS.escape(path)}"] .thumbnail.loaded`));
  const inViewer = () => visible(document.querySelector('.viewer :is(.picture, .placeholder).loaded'));
  const [source, target] = opens ? [inFolder(), inViewer] : [inViewer(), inFolder];
  return source && { name: 'of-picture', source, target, isShown: () => target() !== undefined };
}

/** Returns the element if a part of it is in the window. */
function visible(element: Element | null): HTMLElement | undefined {
  if (!(element instanceof HTMLElement)) return undefined;
  const { top, bottom, width } = element.getBoundingClientRect();
  return width > 0 && bottom > 0 && top < window.innerHeight ? element : undefined;
}

/** Navigates at once. The page shows the result when the browser has captured the old contents. */
function animate(change: Change, navigate: () => void): ViewTransition {
  const root = document.documentElement;
  const named: HTMLElement[] = [];
  const setName = (element: HTMLElement | undefined) => {
    if (!element) return;
    element.style.viewTransitionName = 'picture';
    named.push(element);
  };
  const removeNames = () => named.splice(0).forEach((element) => element.style.removeProperty('view-transition-name'));

  root.classList.remove(...CLASSES);
  root.classList.add('page-transition', change.name);
  setName(change.source);
  holdRendering();
  const start = performance.now();
  const transition = document.startViewTransition(async () => {
    removeNames();
    release();
    const end = performance.now() + MAX_WAIT_MS;
    isSlow = performance.now() - start > MAX_CAPTURE_MS;
    do await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    while (!change.isShown() && performance.now() < end);
    setName(change.target?.());
  });
  // Rejects if the transition is skipped, for example by the next one.
  transition.ready.catch(() => {});
  void transition.finished.finally(() => {
    removeNames();
    if (last === transition) root.classList.remove(...CLASSES);
  });
  navigate();
  return transition;
}

/**
 * Ends a transition when a pointer goes down, and gives the pointer to the new contents: during transitions, browsers give all pointers
 * to the root element (https://drafts.csswg.org/css-view-transitions-1/#view-transition-rendering).
 */
function passPointer(transition: ViewTransition): void {
  const passing = new AbortController();
  const pass = (event: PointerEvent) => {
    passing.abort();
    event.stopImmediatePropagation();
    transition.skipTransition();
    release();
    const target = document.elementFromPoint(event.clientX, event.clientY);
    target?.setPointerCapture(event.pointerId);
    target?.dispatchEvent(new PointerEvent(event.type, event));
  };
  window.addEventListener('pointerdown', pass, { capture: true, signal: passing.signal });
  void transition.finished.finally(() => passing.abort());
}

/** Renders what has changed, and ends the hold. */
let release = () => {};

/** Delays all rendering until `release` is called, because the browser captures the old contents with its next frame. */
function holdRendering(): void {
  const before = options.debounceRendering;
  const waiting: (() => void)[] = [];
  options.debounceRendering = (render) => waiting.push(render);
  release = () => {
    release = () => {};
    if (before) options.debounceRendering = before;
    else delete options.debounceRendering;
    for (const render of waiting) render();
  };
}
