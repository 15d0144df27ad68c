import type { ComponentChildren } from 'preact';
import type { FileEntry, Service } from '../../../platform/service/service.ts';

/** The size in bytes of the first range, which loads quickly on any connection, and of the following ranges. */
const FIRST_PART = 256 * 1024;
const NEXT_PART = 1024 * 1024;

/** Reads a file as text, range by range. */
export interface TextReader {
  /**
   * Returns the next part of the text; undefined if the file is not text. After a failure, the call can be repeated.
   */
  readNext(signal: AbortSignal): Promise<string | undefined>;
  /** The number of bytes read so far. */
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
      // A short range means that the file was truncated.
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

/** Returns the whole text of a small file; undefined if it is not text. */
export async function readWholeText(
  { service, language }: { readonly service: Pick<Service, 'read'>; readonly language: string },
  { path, size, contentType }: FileEntry,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await service.read(path, { from: 0, length: size, signal });
  return createTextDecoder(bytes, { contentType, language, isWhole: true })?.(bytes, true);
}

/**
 * Returns a function that decodes a file in parts; undefined if the first bytes are not text. A character that spans
 * two parts is decoded with the second one.
 *
 * The encoding is that of the byte order mark, otherwise the `charset` of the media type, otherwise UTF-8. Bytes that
 * are not valid UTF-8 have the legacy encoding of `language`.
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
  const label =
    marked ?? declaredEncoding(contentType) ?? (isUtf8(first, isWhole) ? 'utf-8' : legacyEncoding(language));
  const decoder = new TextDecoder(label);
  return (part, isLast) => decoder.decode(part, { stream: !isLast });
}

/** Byte order marks and their encodings. */
const BYTE_ORDER_MARKS: readonly (readonly [readonly number[], string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];

/** Returns the `charset` of a media type, if the browser supports it. */
function declaredEncoding(contentType: string): string | undefined {
  const charset = /;\s*charset="?(?<name>[\w.:-]+)/i.exec(contentType)?.groups?.['name'];
  // The service adds UTF-8 to every text whose encoding the store does not know.
  if (charset === undefined || /^utf-?8$/i.test(charset)) return undefined;
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

/** Returns whether bytes are valid UTF-8. Unless they are the whole file, they can end within a character. */
function isUtf8(bytes: Uint8Array, isWhole: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isWhole });
    return true;
  } catch {
    return false;
  }
}

/** Returns the encoding that was common for a language before UTF-8. */
function legacyEncoding(language: string): string {
  const encodings: Readonly<Record<string, string>> = { ar: 'windows-1256', ja: 'shift_jis', 'zh-Hans': 'gb18030' };
  return encodings[language] ?? 'windows-1252';
}

/** Consecutive lines that are rendered together, and skipped while they are far from the visible part. */
export interface TextBlock {
  /** The number of the first line, from 1. */
  readonly firstLine: number;
  /** The lines without line breaks. */
  readonly lines: readonly ComponentChildren[];
}

const BLOCK_LINES = 200;

/** Splits a text into blocks. Returns the text after the last line break separately, because the line can continue. */
export function blocksOf(text: string, firstLine: number): { blocks: readonly TextBlock[]; rest: string } {
  const lines = text.split(/\r\n|\n|\r(?=.)/s);
  const rest = lines.pop() ?? '';
  const blocks: TextBlock[] = [];
  for (let at = 0; at < lines.length; at += BLOCK_LINES) {
    blocks.push({ firstLine: firstLine + at, lines: lines.slice(at, at + BLOCK_LINES) });
  }
  return { blocks, rest };
}
