import { isWithin, parentOf } from '../paths.ts';

/** Whether entries can be put into a folder: not where they are already, and no folder into itself or below. */
export function canTake(folder: string, paths: readonly string[]): boolean {
  return paths.every((path) => parentOf(path) !== folder && !isOnTheWay(folder, path));
}

/** Whether a folder is the one that is dragged, or below it: opening it leads nowhere. */
export function isOnTheWay(folder: string, path: string): boolean {
  return path.endsWith('/') && isWithin(folder, path);
}
