/** A number that no number of JavaScript is, as it is written. */
export class ExactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** The value of a text of JSON; undefined where it is none. Long numbers keep all their digits. */
export function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text, keepNumber) };
  } catch {
    return undefined;
  }
}

/** The text of a number is told by browsers of 2025 and later; the others round it. */
function keepNumber(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && source.length > 15 && String(value) !== source
    ? new ExactNumber(source)
    : value;
}
