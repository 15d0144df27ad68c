import { isWithin, parentOf } from '../../platform/paths.ts';

/** Returns whether a folder accepts the entries: neither their own folder, nor one of them or a folder inside it. */
export function acceptsEntries(folder: string, paths: readonly string[]): boolean {
  return paths.every((path) => parentOf(path) !== folder && !isInside(folder, path));
}

/** Returns whether a folder is the dragged one or inside it. */
export function isInside(folder: string, path: string): boolean {
  return path.endsWith('/') && isWithin(folder, path);
}

/** Why a drop of files would fail: the key of the message. */
export type Rejection = 'readOnly' | 'dialogOpen' | 'notLoaded' | 'addDenied';

interface FileDrop {
  /** The folder below the pointer; null if there is none. */
  readonly pointed: string | null;
  /** The shown folder; null until the page has confirmed that it exists. */
  readonly shown: string | null;
  readonly isReadOnly: boolean;
  readonly isDialogOpen: boolean;
  readonly mayWrite: (folder: string) => boolean;
}

/** Returns the destination of dropped files: the folder below the pointer, otherwise the shown folder. */
export function targetOfFiles(drop: FileDrop): { readonly folder: string } | { readonly rejection: Rejection } {
  if (drop.isReadOnly) return { rejection: 'readOnly' };
  if (drop.isDialogOpen) return { rejection: 'dialogOpen' };
  const folder = drop.pointed ?? drop.shown;
  if (folder === null) return { rejection: 'notLoaded' };
  return drop.mayWrite(folder) ? { folder } : { rejection: 'addDenied' };
}

/** Opens a folder when a drag rests on it, like the spring-loaded folders of Finder. */
export interface SpringLoading {
  /** Receives the folder below the pointer, or null if it can't be opened, and the position of the pointer in pixels. */
  over(folder: string | null, position: Point): void;
  end(): void;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Milliseconds that the drag must rest on a folder. */
export const DWELL_MS = 700;

/** Pixels that the pointer must move after a folder has opened, before the next one can open. */
const MIN_MOVE = 8;

export function createSpringLoading(open: (folder: string) => void): SpringLoading {
  let pointed: string | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: Point = { x: 0, y: 0 };
  /** The position of the pointer when a folder opened; null once the pointer has moved away. */
  let openedAt: Point | null = null;

  const point = (folder: string | null) => {
    if (folder === pointed) return;
    pointed = folder;
    clearTimeout(timer);
    if (folder === null) return;
    timer = setTimeout(() => {
      openedAt = last;
      pointed = null;
      open(folder);
    }, DWELL_MS);
  };
  return {
    over(folder, position) {
      last = position;
      // After the list changes below a resting pointer, the user has not pointed at the new entry.
      if (openedAt && Math.hypot(position.x - openedAt.x, position.y - openedAt.y) >= MIN_MOVE) openedAt = null;
      point(openedAt ? null : folder);
    },
    end() {
      openedAt = null;
      point(null);
    },
  };
}
