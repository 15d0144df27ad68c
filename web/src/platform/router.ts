import { type ReadonlySignal, signal } from '@preact/signals';
import type { Urls } from './service/urls.ts';

/** What is shown: a folder, and perhaps the preview of one of its files. */
export interface Place {
  readonly folder: string;
  readonly preview: string | null;
}

/** Where one was in a folder, so that going back leads to the same sight. */
export interface Sight {
  readonly scrollTop: number;
  readonly focused: string | null;
}

/** The address bar and the history. */
export interface Location {
  readonly place: ReadonlySignal<Place>;
  /** Shows a place, as a new step of the history or in the place of the current one. */
  go(place: Place, options?: { replace?: boolean }): void;
  openFolder(folder: string): void;
  openPreview(path: string): void;
  /** Closes the preview; by going back, where it was opened from its folder. */
  closePreview(): void;
  /** Says where to learn the sight of the folder, which is kept when another one is opened or the page is left. */
  watchSight(look: () => Sight): void;
  /** The sight that was kept of this step of the history. */
  sight(): Sight | undefined;
  /** `closeTop` closes what lies in front of the page, and says whether there was anything: then going back did that. */
  closeBeforeGoing(closeTop: () => boolean): void;
}

interface Step {
  readonly sight?: Sight;
  /** Whether the step before is the folder of this preview. */
  readonly isFromFolder?: boolean;
}

export function createLocation(urls: Urls, first: Place): Location {
  const place = signal(first);
  const step = () => (history.state ?? {}) as Step;
  let look: (() => Sight) | undefined;
  /** The state of the step that is shown, for when one stays at it. */
  let stayed = step();
  const keepSight = () => {
    if (look) history.replaceState({ ...step(), sight: look() }, '');
  };

  window.addEventListener('pagehide', keepSight);
  let closeTop = () => false;
  let isGoingBack = false;
  window.addEventListener('popstate', () => {
    isGoingBack = false;
    if (closeTop()) {
      const { folder, preview } = place.value;
      history.pushState(stayed, '', urls.page(folder, preview));
      return;
    }
    stayed = step();
    place.value = urls.placeOf(new URL(window.location.href));
  });

  const go = (next: Place, { replace = false }: { replace?: boolean } = {}, state: Step = {}) => {
    const url = urls.page(next.folder, next.preview);
    if (replace) {
      history.replaceState(state, '', url);
    } else {
      keepSight();
      history.pushState(state, '', url);
    }
    stayed = step();
    place.value = next;
  };

  return {
    place,
    go: (next, options) => go(next, options, options?.replace ? step() : {}),
    openFolder: (folder) => go({ folder, preview: null }),
    openPreview(path) {
      const { folder, preview } = place.value;
      // The next picture takes the place of this one, so that one step back leads out.
      if (preview === null) go({ folder, preview: path }, {}, { isFromFolder: true });
      else go({ folder, preview: path }, { replace: true }, step());
    },
    closePreview() {
      // Asked for twice, before the browser has gone back, it would lead out of the folder as well.
      if (isGoingBack) return;
      isGoingBack = step().isFromFolder === true;
      if (isGoingBack) history.back();
      else go({ folder: place.value.folder, preview: null }, { replace: true });
    },
    watchSight(source) {
      look = source;
    },
    sight: () => step().sight,
    closeBeforeGoing(close) {
      closeTop = close;
    },
  };
}
