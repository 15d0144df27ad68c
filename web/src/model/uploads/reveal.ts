import { batch, effect, untracked } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import type { Folder } from '../folder/folder.ts';
import type { Selection } from '../selection.ts';
import { pathOf, type UploadItem } from './upload-item.ts';

export interface Reveal {
  /** Highlights entries of the shown folder and scrolls to the first; ignores paths that are not shown. */
  highlight(paths: readonly string[]): void;
  /** Opens the folder of a path, and selects and highlights the entry once it is listed. */
  show(path: string): void;
}

interface RevealOptions {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly router: Router;
}

/** Milliseconds for which entries stay highlighted. Matches the animation in the style sheet. */
const HIGHLIGHT_MS = 3_000;

export function createReveal({ folder, selection, router }: RevealOptions): Reveal {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopWaiting = () => {};

  const highlight = (paths: readonly string[]) => {
    const shown = paths.filter((path) => folder.indexOf(path) >= 0);
    const [first] = shown.toSorted((one, other) => folder.indexOf(one) - folder.indexOf(other));
    if (first === undefined) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      selection.revealed.value = new Set();
    }, HIGHLIGHT_MS);
    batch(() => {
      folder.focused.value = first;
      selection.revealed.value = new Set([first, ...shown]);
    });
  };

  return {
    highlight,
    show(path) {
      stopWaiting();
      let isOver = false;
      stopWaiting = () => {
        isOver = true;
      };
      const parent = parentOf(path);
      if (folder.path.value !== parent) router.openFolder(parent);
      folder.filter.value = '';
      // After that, the effect reads no signal and does not run again.
      effect(() => {
        if (!isOver) isOver = folder.path.value !== parent;
        if (isOver || folder.indexOf(path) < 0) return;
        isOver = true;
        untracked(() => {
          selection.only(path);
          highlight([path]);
        });
      });
    },
  };
}

/** Returns the entries of a folder that uploads were stored as or in. */
export function entriesOf(items: readonly UploadItem[], folder: string): readonly string[] {
  const entries = new Set<string>();
  for (const item of items) {
    const path = item.kind === 'folder' ? `${pathOf(item)}/` : pathOf(item);
    if (item.state.peek() !== 'done' || !path.startsWith(folder)) continue;
    const end = path.indexOf('/', folder.length);
    entries.add(end < 0 ? path : path.slice(0, end + 1));
  }
  return [...entries];
}

/** Calls `onBusy` when the user interacts with the page outside the tray, messages and dialogs. */
export function watchUser(onBusy: () => void): void {
  for (const type of ['pointerdown', 'keydown', 'wheel'] as const) {
    document.addEventListener(
      type,
      ({ target }) => {
        const isAside = target instanceof Element && target.closest('.tray, .messages, dialog') !== null;
        if (!isAside) onBusy();
      },
      { capture: true, passive: true },
    );
  }
}
