import type { PathLocks } from '../path-locks.ts';
import { type ItemTurn, pathOf, type UploadItem } from './upload-item.ts';

/** Waits for the turn of an item among all operations that change its path. Later operations wait until it ends. */
export function takeTurn(pathLocks: Pick<PathLocks, 'withLock'>, item: UploadItem): ItemTurn {
  const { promise: begun, resolve: begin } = Promise.withResolvers<boolean>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const path = item.kind === 'folder' ? `${pathOf(item)}/` : pathOf(item);
  // A turn that ends before it begins is released at once. Otherwise it would count as failed.
  void pathLocks.withLock({ written: [path] }, (turn) => {
    begin(!turn.isUncertain(path));
    return ended;
  });
  return { begun, end };
}
