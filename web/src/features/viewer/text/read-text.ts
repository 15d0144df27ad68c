import type { FileEntry, Service } from '../../../platform/service/service.ts';

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

/**
 * Gives the text of the bytes of a file, part after part: a character that is cut at the end of a part comes with the
 * next one. Undefined where the first bytes are no text.
 *
 * The encoding is what a byte order mark says, else the media type (its `charset`), else UTF-8; where the bytes are
 * not that, the one that old files are in where `language` is spoken.
 */
export function createTextDecoder(
  first: Uint8Array,
  {
    contentType,
    language,
    isWhole,
  }: { readonly contentType: string; readonly language: string; readonly isWhole: boolean },
): ((part: Uint8Array, isLast: boolean) => string) | undefined {
  const marked = BYTE_ORDER_MARKS.find(([mark]) => mark.every((byte, index) => first[index] === byte))?.[1];
  if (marked === undefined && first.includes(0)) return undefined;
  const label = marked ?? declaredEncoding(contentType) ?? (isUtf8(first, isWhole) ? 'utf-8' : legacyEncoding(language));
  const decoder = new TextDecoder(label);
  return (part, isLast) => decoder.decode(part, { stream: !isLast });
}

/** Byte order marks, with which some programs begin their files. */
const BYTE_ORDER_MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** The encoding that a media type names, if this browser knows it. */
function declaredEncoding(contentType: string): string | undefined {
  const charset = /;\s*charset="?(?<name>[\w.:-]+)/i.exec(contentType)?.groups?.['name'];
  // Said of every text by the service itself, where the store says nothing.
  if (charset === undefined || /^utf-?8$/i.test(charset)) return undefined;
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

/** A part may end within a character, a whole file may not. */
function isUtf8(bytes: Uint8Array, isWhole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isWhole });
    return true;
  } catch {
    return false;
  }
}

const legacyEncoding = (language: string) => (language.startsWith('zh') ? 'gb18030' : 'windows-1252');
