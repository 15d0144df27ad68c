import { batch, effect, untracked } from '@preact/signals';
import { parentOf } from '../platform/paths.ts';
import type { Router } from '../platform/router.ts';
import type { Folder } from './folder/folder.ts';
import type { Selection } from './selection.ts';

interface HighlighterOptions {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly router: Router;
}

/** The duration of a highlight. Matches the animation in the style sheet. */
const HIGHLIGHT_MS = 3_000;

/** Highlights entries for a few seconds. */
export class Highlighter {
  readonly #options: HighlighterOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Stops waiting for the entry of the last `open`. */
  #cancelOpen = () => {};

  constructor(options: HighlighterOptions) {
    this.#options = options;
  }

  /** Highlights entries of the shown folder and scrolls to the first. Ignores paths that are not shown. */
  highlight(paths: readonly string[]): void {
    const { folder, selection } = this.#options;
    const shown = paths.filter((path) => folder.indexOf(path) >= 0);
    const [first] = shown.toSorted((a, b) => folder.indexOf(a) - folder.indexOf(b));
    if (first === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      selection.revealed.value = new Set();
    }, HIGHLIGHT_MS);
    batch(() => {
      folder.focused.value = first;
      selection.revealed.value = new Set([first, ...shown]);
    });
  }

  /** Opens the folder of an entry. Selects and highlights the entry once it is listed. */
  open(path: string): void {
    const { folder, selection, router } = this.#options;
    this.#cancelOpen();
    let isDone = false;
    this.#cancelOpen = () => {
      isDone = true;
    };
    const parent = parentOf(path);
    if (router.route.value.view || folder.path.value !== parent) router.openFolder(parent);
    folder.filter.value = '';
    // Once `isDone` is true, the effect reads no signal, so it does not run again.
    effect(() => {
      if (!isDone) isDone = folder.path.value !== parent;
      if (isDone || folder.indexOf(path) < 0) return;
      isDone = true;
      untracked(() => {
        selection.only(path);
        this.highlight([path]);
      });
    });
  }
}
