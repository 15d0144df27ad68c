import { type FormField, parseFormDisposition } from './content-disposition.ts';

/** A part of a form in memory. */
export interface WholePart extends FormField {
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
export function partsOfWhole(form: Buffer, boundary: string): WholePart[] | undefined {
  const delimiter = `\r\n--${boundary}`;
  const parts: WholePart[] = [];
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

function partOf(header: string, bytes: Buffer): WholePart | undefined {
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
