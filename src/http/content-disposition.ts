/** What a part of a form says of itself. */
export interface FormField {
  readonly name: string | undefined;
  /** Present, though perhaps empty, on a part that is a file. */
  readonly filename: string | undefined;
}

/**
 * Reads the `Content-Disposition` of a part of `multipart/form-data`, given as Latin-1 text.
 *
 * Browsers and curl write names as the HTML standard has it ("multipart form data"): raw UTF-8, with `"`, CR and LF
 * as `%22`, `%0D` and `%0A`, and a backslash as itself. Older programs write a quoted string with backslashes
 * before `"` and `\` instead. The second is told from the first by a `"` inside the quotes, which the first never
 * has. Returns undefined for another disposition and for names that are not UTF-8.
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
  return { name: parameters.get('name'), filename: parameters.get('filename') };
}

/** The name of a parameter, up to the beginning of its value. */
const OPENING = /^\s*;\s*([\w*-]+)\s*=\s*("?)/;

/**
 * A quote that ends a value: a parameter follows it, or nothing. No two runs of spaces in it can share what they match,
 * so that the time stays in proportion to the length.
 */
const CLOSING = /"\s*(?:$|;\s*(?:$|[\w*-]+\s*=))/;

interface Value {
  readonly text: string;
  /** Characters of the header that it takes up. */
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
