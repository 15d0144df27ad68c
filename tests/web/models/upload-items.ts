import { createItem, type QueuedItem } from '../../../web/src/model/uploads/upload-item.ts';

interface ItemOptions {
  /** Bytes. */
  readonly size?: number;
  readonly batch?: object;
  readonly folder?: string;
  /** Milliseconds since 1970. */
  readonly lastModified?: number;
}

export const newBatch = (): object => ({});

/** Returns an upload of a file of zeros. */
export function fileItem(
  name: string,
  { size = 4, batch = newBatch(), folder = '', lastModified = Date.now() }: ItemOptions = {},
): QueuedItem {
  return createItem({ folder, name, file: new File([new Uint8Array(size)], name, { lastModified }) }, batch);
}
