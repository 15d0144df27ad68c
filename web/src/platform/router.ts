import { type ReadonlySignal, signal } from '@preact/signals';
import { ROOT } from './paths.ts';
import type { PageView, Urls } from './service/urls.ts';

/** The shown folder, and the file of the folder whose preview is open, or another list instead of the folder. */
export interface Route {
  readonly folder: string;
  readonly preview: string | null;
  /** The folder of the trash is the root. */
  readonly view?: PageView | null;
}

/** The scroll position and the focus in a folder. The history keeps it, so going back restores it. */
export interface ViewState {
  readonly scrollTop: number;
  readonly focused: string | null;
}

/** Synchronizes the route with the address bar and the browser's history. */
export interface Router {
  readonly route: ReadonlySignal<Route>;
  /** Navigates to a route. With `replace`, it replaces the current history entry. */
  go(route: Route, options?: { replace?: boolean }): void;
  openFolder(folder: string): void;
  openView(view: PageView, folder?: string): void;
  openPreview(path: string): void;
  /** Closes the preview. Goes back in the history if the preview was opened from its folder. */
  closePreview(): void;
  /** Sets the function that returns the current view state. The router calls it before it leaves a history entry. */
  watchViewState(read: () => ViewState): void;
  /** Returns the view state that the current history entry was left with. */
  viewState(): ViewState | undefined;
  /**
   * Sets a function that closes the topmost dialog or menu and returns whether one was open. Going back then only closes
   * it.
   */
  closeBeforeNavigating(closeTop: () => boolean): void;
  /** Sets a function that calls `navigate` at once, and animates what it changes. */
  animateWith(animate: Animate): void;
}

export type Animate = (navigate: () => void, from: Route, to: Route) => void;

/** The state of a history entry. */
interface HistoryState {
  readonly viewState?: ViewState;
  /** Whether the previous history entry is the folder of this preview. */
  readonly isFromFolder?: boolean;
}

export function createRouter(urls: Urls, first: Route): Router {
  const route = signal(first);
  const urlOf = ({ folder, preview, view }: Route) => urls.page(folder, preview, view);
  const current = () => (history.state ?? {}) as HistoryState;
  let read: (() => ViewState) | undefined;
  /** The state of the shown history entry. A navigation that only closes a dialog restores it. */
  let shown = current();
  let animate: Animate = (navigate) => navigate();
  const show = (next: Route) =>
    animate(
      () => {
        route.value = next;
      },
      route.value,
      next,
    );
  const saveViewState = () => {
    if (read) history.replaceState({ ...current(), viewState: read() }, '');
  };

  window.addEventListener('pagehide', saveViewState);
  let closeTop = () => false;
  let isGoingBack = false;
  window.addEventListener('popstate', ({ hasUAVisualTransition }) => {
    isGoingBack = false;
    if (closeTop()) {
      history.pushState(shown, '', urlOf(route.value));
      return;
    }
    shown = current();
    const next = urls.routeOf(new URL(window.location.href));
    // The browser itself has animated the gesture.
    if (hasUAVisualTransition) route.value = next;
    else show(next);
  });

  const go = (next: Route, { replace = false }: { replace?: boolean } = {}, state?: HistoryState) => {
    saveViewState();
    const url = urlOf(next);
    if (replace) history.replaceState(state ?? current(), '', url);
    else history.pushState(state ?? {}, '', url);
    shown = current();
    show(next);
  };

  return {
    route,
    go,
    openFolder: (folder) => go({ folder, preview: null }),
    openView: (view, folder = ROOT) => go({ folder, preview: null, view }),
    openPreview(path) {
      const { folder, preview } = route.value;
      // The next file replaces the history entry of this one, so going back once closes the viewer.
      if (preview === null) go({ folder, preview: path }, {}, { isFromFolder: true });
      else go({ folder, preview: path }, { replace: true });
    },
    closePreview() {
      // A second call before the browser has gone back would also leave the folder.
      if (isGoingBack) return;
      isGoingBack = current().isFromFolder === true;
      if (isGoingBack) history.back();
      else go({ folder: route.value.folder, preview: null }, { replace: true });
    },
    watchViewState(source) {
      read = source;
    },
    viewState: () => current().viewState,
    closeBeforeNavigating(close) {
      closeTop = close;
    },
    animateWith(next) {
      animate = next;
    },
  };
}
