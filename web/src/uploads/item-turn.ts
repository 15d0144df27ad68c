import type { Turns } from '../changes/turns.ts';
import { pathOf, type UploadItem } from './upload-item.ts';

/** The turn of an item among all that changes what is stored: what is asked for later waits until it ends. */
export interface ItemTurn {
  /**
   * Settles when the item may be sent; with `false` where something before it failed, so that its folder is not what a
   * person saw.
   */
  readonly begun: Promise<boolean>;
  end(): void;
}

export function takeTurn(turns: Pick<Turns, 'inTurn'>, item: UploadItem): ItemTurn {
  const { promise: begun, resolve: begin } = Promise.withResolvers<boolean>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const path = item.kind === 'folder' ? `${pathOf(item)}/` : pathOf(item);
  // One that ends before it begins gives way at once when it does: it would count as failed otherwise.
  void turns.inTurn({ written: [path] }, (turn) => {
    begin(!turn.isUncertain(path));
    return ended;
  });
  return { begun, end };
}
