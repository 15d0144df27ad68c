import { Readable } from 'node:stream';
import type { ResolvedRange } from './range.ts';
import type { Content, FileEntry } from './store.ts';

/**
 * What a read gives whose bytes are at hand; the stream is made for those who ask for it. A class, since a getter of an
 * object literal makes a hidden class of its own for each object, which stays in memory until the next full collection.
 */
export class BytesAtHand implements Content {
  readonly file: FileEntry;
  readonly range: ResolvedRange | undefined;
  readonly bytes: Buffer;

  constructor(file: FileEntry, range: ResolvedRange | undefined, bytes: Buffer) {
    this.file = file;
    this.range = range;
    this.bytes = bytes;
  }

  get body(): Readable {
    return Readable.from(this.bytes.length > 0 ? [this.bytes] : [], { objectMode: false });
  }
}
