import type { FileEntry, Service } from '../../../platform/service/service.ts';
import { createTextDecoder } from './decode-text.ts';

/** Bytes of the first part, which is there soon on any line, and of those that are asked for after it. */
const FIRST_PART = 256 * 1024;
const NEXT_PART = 1024 * 1024;

/** A file that is read as text, from its beginning as far as a person wants. */
export interface TextReader {
  /**
   * The text that comes next; undefined where the file is no text. Once this has failed, it can be asked again.
   */
  readNext(signal: AbortSignal): Promise<string | undefined>;
  /** Bytes that were read so far. */
  readonly position: number;
  readonly isAtEnd: boolean;
}

export function createTextReader(
  { service, language }: { readonly service: Pick<Service, 'read'>; readonly language: string },
  { path, size, contentType }: FileEntry,
): TextReader {
  let position = 0;
  let isAtEnd = false;
  let decode: ReturnType<typeof createTextDecoder>;

  return {
    async readNext(signal) {
      const length = Math.min(position === 0 ? FIRST_PART : NEXT_PART, size - position);
      const bytes = await service.read(path, { from: position, length, signal });
      const isFirst = position === 0;
      position += bytes.length;
      // Less than there should be: the file has become shorter.
      isAtEnd = position >= size || bytes.length < length;
      if (isFirst) decode = createTextDecoder(bytes, { contentType, language, isWhole: isAtEnd });
      return decode?.(bytes, isAtEnd);
    },
    get position() {
      return position;
    },
    get isAtEnd() {
      return isAtEnd;
    },
  };
}

/** The whole text of a file that is not too long for it; undefined where it is none. */
export async function readWholeText(
  { service, language }: { readonly service: Pick<Service, 'read'>; readonly language: string },
  { path, size, contentType }: FileEntry,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await service.read(path, { from: 0, length: size, signal });
  return createTextDecoder(bytes, { contentType, language, isWhole: true })?.(bytes, true);
}
