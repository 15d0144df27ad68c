import { isWithin, parentOf } from '../../platform/paths.ts';

/**
 * Returns whether a folder can receive the entries: not their own folder, and no folder into itself or a descendant.
 */
export function canTake(folder: string, paths: readonly string[]): boolean {
  return paths.every((path) => parentOf(path) !== folder && !isOnTheWay(folder, path));
}

/** Returns whether a folder is the dragged one or inside it. */
export function isOnTheWay(folder: string, path: string): boolean {
  return path.endsWith('/') && isWithin(folder, path);
}

/** Why a drop of files would fail: the key of the message. */
export type Refusal = 'readOnly' | 'dialogOpen' | 'notLoaded' | 'mayNotAdd';

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
export function targetOfFiles(drop: FileDrop): { readonly folder: string } | { readonly refusal: Refusal } {
  if (drop.isReadOnly) return { refusal: 'readOnly' };
  if (drop.isDialogOpen) return { refusal: 'dialogOpen' };
  const folder = drop.pointed ?? drop.shown;
  if (folder === null) return { refusal: 'notLoaded' };
  return drop.mayWrite(folder) ? { folder } : { refusal: 'mayNotAdd' };
}
