/* How a text is stored in a file, so that saving it changes only what the user has changed. */

/** The line ending of a file; `mixed` if its lines end differently. Such a text contains its carriage returns. */
export type LineEnding = '\n' | '\r\n' | '\r' | 'mixed';

export interface TextFormat {
  readonly lineEnding: LineEnding;
  /** Whether the file begins with a byte order mark. */
  readonly hasMark: boolean;
}

export interface DecodedText {
  /** The text without a byte order mark. Lines end with `\n`, except with mixed line endings. */
  readonly text: string;
  readonly format: TextFormat;
}

/** The format of a new file. */
export const NEW_FORMAT: TextFormat = { lineEnding: '\n', hasMark: false };

const MARK = '\uFEFF';

/** Decodes UTF-8. Returns undefined if the bytes are not valid UTF-8, or contain a null character, as binary files do. */
export function decodeUtf8(bytes: Uint8Array): DecodedText | undefined {
  if (bytes.includes(0)) return undefined;
  let content: string;
  try {
    content = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
  const hasMark = content.startsWith(MARK);
  return normalizeLines(hasMark ? content.slice(MARK.length) : content, hasMark);
}

/** Returns a text as the editor holds it, and its format. */
export function normalizeLines(content: string, hasMark = false): DecodedText {
  const lineEnding = lineEndingOf(content);
  const text = lineEnding === '\r\n' || lineEnding === '\r' ? content.replaceAll(lineEnding, '\n') : content;
  return { text, format: { lineEnding, hasMark } };
}

function lineEndingOf(content: string): LineEnding {
  const count = (pattern: RegExp) => content.match(pattern)?.length ?? 0;
  const both = count(/\r\n/g);
  const returns = count(/\r/g) - both;
  const feeds = count(/\n/g) - both;
  const kinds = [both, returns, feeds].filter((each) => each > 0).length;
  if (kinds > 1) return 'mixed';
  if (both > 0) return '\r\n';
  return returns > 0 ? '\r' : '\n';
}

/** Returns the bytes of a text in a format. */
export function encodeText(text: string, { lineEnding, hasMark }: TextFormat): Uint8Array<ArrayBuffer> {
  const lines = lineEnding === 'mixed' || lineEnding === '\n' ? text : text.replaceAll('\n', lineEnding);
  return new TextEncoder().encode(hasMark ? MARK + lines : lines);
}
