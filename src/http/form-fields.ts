/** The names in the header of one form part. */
export interface FormField {
  readonly name: string | undefined;
  /** Defined, possibly empty, if the part is a file. */
  readonly filename: string | undefined;
  /**
   * A parameter that gives the file name in an unsupported format, such as `filename*`. `filename` is then undefined.
   */
  readonly unreadable?: string;
}

/**
 * Parses the `Content-Disposition` of a part of `multipart/form-data`, given as Latin-1 text.
 *
 * Browsers and curl write names as the HTML standard requires ("multipart form data"): raw UTF-8, with `"`, CR and LF
 * as `%22`, `%0D` and `%0A`, and an unescaped backslash. Older programs write a quoted string with backslashes before
 * `"` and `\` instead. A `"` inside the quotes identifies the second form, because the first never contains one.
 *
 * .NET and Spring send an RFC 2047 `filename` for old servers, and the real name in `filename*` (RFC 8187), which then
 * takes precedence. Without such a `filename`, `filename*` is ignored, because forms must not use it (RFC 7578, section
 * 4.2). An RFC 2047 `filename` alone is a literal name: browsers send such names unchanged.
 *
 * Returns undefined for another disposition, for names that are not UTF-8, and for a field name in `name*` alone.
 */
export function parseFormDisposition(header: string): FormField | undefined {
  const kind = /^\s*form-data\s*(?=;|$)/i.exec(header);
  if (!kind) return undefined;
  const parameters = new Map<string, string>();
  let rest = header.slice(kind[0].length);
  for (let opening = OPENING.exec(rest); opening?.[1] !== undefined; opening = OPENING.exec(rest)) {
    rest = rest.slice(opening[0].length);
    const value = opening[2] === '"' ? quotedValue(rest) : bareValue(rest);
    rest = rest.slice(value.length);
    const text = decode(value.text);
    if (text === undefined) return undefined;
    if (!parameters.has(opening[1].toLowerCase())) parameters.set(opening[1].toLowerCase(), text);
  }
  const name = parameters.get('name');
  if (name === undefined && extendedForm(parameters, 'name') !== undefined) return undefined;
  return { name, ...fileNameIn(parameters) };
}

function fileNameIn(parameters: ReadonlyMap<string, string>): Omit<FormField, 'name'> {
  const filename = parameters.get('filename');
  const unreadable = extendedForm(parameters, 'filename');
  if (unreadable === undefined) return { filename };
  if (filename !== undefined && !ENCODED_WORDS.test(filename)) return { filename };
  const extended = filename === undefined ? undefined : decodeExtended(parameters.get('filename*') ?? '');
  return extended === undefined ? { filename: undefined, unreadable } : { filename: extended };
}

/** Returns the first extended form of `name`: `name*` (RFC 8187), or `name*0` or `name*0*` (RFC 2231). */
function extendedForm(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  return [...parameters.keys()].find((key) => key.startsWith(`${name}*`));
}

/** Only encoded words (RFC 2047, section 2). */
const ENCODED_WORDS = /^=\?[^?\s]+\?[bq]\?[^?\s]*\?=(?:\s+=\?[^?\s]+\?[bq]\?[^?\s]*\?=)*$/i;

/** Decodes an extended value (RFC 8187, section 3.2.1) in UTF-8 or Latin-1. Returns undefined for any other value. */
function decodeExtended(value: string): string | undefined {
  const [, charset = '', encoded = ''] = /^(utf-8|iso-8859-1)'[^']*'((?:[^%]|%[\da-f]{2})*)$/i.exec(value) ?? [];
  if (charset === '') return undefined;
  if (charset.toLowerCase() === 'iso-8859-1') {
    return encoded.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

/** A parameter name up to the start of its value. */
const OPENING = /^\s*;\s*([\w*-]+)\s*=\s*("?)/;

/**
 * A quote that ends a value: a parameter or the end of the header follows. No two runs of spaces can match the same
 * text, so matching takes linear time.
 */
const CLOSING = /"\s*(?:$|;\s*(?:$|[\w*-]+\s*=))/;

interface Value {
  readonly text: string;
  /** Characters of the header that the value occupies. */
  readonly length: number;
}

function quotedValue(rest: string): Value {
  const end = CLOSING.exec(rest)?.index ?? rest.length;
  const raw = rest.slice(0, end);
  return { text: raw.includes('"') ? raw.replace(/\\(["\\])/g, '$1') : raw, length: end + 1 };
}

function bareValue(rest: string): Value {
  const text = /^[^\s;]*/.exec(rest)?.[0] ?? '';
  return { text, length: text.length };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode(latin1: string): string | undefined {
  try {
    const text = UTF8.decode(Buffer.from(latin1, 'latin1'));
    return text.replace(/%22/g, '"').replace(/%0D/gi, '\r').replace(/%0A/gi, '\n');
  } catch {
    return undefined;
  }
}

/** A part of a form in memory. */
export interface BufferedPart extends FormField {
  readonly type: string | undefined;
  readonly bytes: Buffer;
}

/** Maximum bytes and lines of the headers of one part. A browser writes two lines, mostly names. */
const MAX_HEADER = 1024;
const MAX_LINES = 4;

/** Maximum number of parts of an ordinary form. */
const MAX_PARTS = 8;

/**
 * Returns the parts of a complete form in the format of browsers and curl. Returns undefined for any other form, valid
 * or not: the full parser then handles it.
 */
export function parseBufferedForm(form: Buffer, boundary: string): BufferedPart[] | undefined {
  const delimiter = `\r\n--${boundary}`;
  const parts: BufferedPart[] = [];
  let position = delimiter.length - 2;
  if (form.toString('latin1', 0, position) !== delimiter.slice(2)) return undefined;
  while (form.toString('latin1', position, position + 2) === '\r\n' && parts.length < MAX_PARTS) {
    const start = position + 2;
    const headerEnd = form.indexOf('\r\n\r\n', start, 'latin1');
    const end = form.indexOf(delimiter, start, 'latin1');
    if (headerEnd === -1 || headerEnd - start > MAX_HEADER || headerEnd + 4 > end) return undefined;
    const part = partOf(form.toString('latin1', start, headerEnd), form.subarray(headerEnd + 4, end));
    if (!part) return undefined;
    parts.push(part);
    position = end + delimiter.length;
  }
  const rest = form.toString('latin1', position);
  return rest === '--\r\n' || rest === '--' ? parts : undefined;
}

function partOf(header: string, bytes: Buffer): BufferedPart | undefined {
  const lines = header.split('\r\n');
  if (lines.length > MAX_LINES) return undefined;
  let disposition: string | undefined;
  let type: string | undefined;
  for (const line of lines) {
    const [, name, value = ''] = /^([\w-]+):[ \t]?([^\r\n]*)$/.exec(line) ?? [];
    if (name === undefined) return undefined;
    if (/^content-disposition$/i.test(name)) disposition ??= value;
    else if (/^content-type$/i.test(name)) type ??= value;
    else if (/^content-transfer-encoding$/i.test(name)) return undefined;
  }
  const field = disposition === undefined ? undefined : parseFormDisposition(disposition);
  return field && { ...field, type, bytes };
}
