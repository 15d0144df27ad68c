import { shownName } from './names.ts';

/** A message as `web/message-compiler.ts` compiles it: plain text, or parts if it has parameters. */
export type Message = string | readonly Part[];
/** Text, or an argument with the options of its `plural` or `select`. */
export type Part = string | readonly [argument: string, options?: Readonly<Record<string, Message>>];

export interface Catalogue {
  readonly [key: string]: Message | Catalogue;
}

type Parameters = Readonly<Record<string, string | number>>;
type Formatter = (message: Message, parameters: Parameters) => string;

/** Returns a formatter whose plural categories and numbers follow the locale, which can have a region. */
export function createFormatter(locale: string): Formatter {
  const numbers = new Intl.NumberFormat(locale);
  const plurals = new Intl.PluralRules(locale);

  const format: Formatter = (message, parameters) =>
    typeof message === 'string' ? message : message.map((part) => formatPart(part, parameters)).join('');

  const formatPart = (part: Part, parameters: Parameters): string => {
    if (typeof part === 'string') return part;
    const [argument, options] = part;
    const value = parameters[argument] ?? '';
    if (options) return format(optionFor(value, options), parameters);
    if (typeof value === 'number') return numbers.format(value);
    return argument === WHOLE_MESSAGE ? value : isolate(shownName(value));
  };

  const optionFor = (value: string | number, options: Readonly<Record<string, Message>>): Message => {
    const key = typeof value === 'number' ? plurals.select(value) : value;
    return options[`=${value}`] ?? options[key] ?? options['other'] ?? '';
  };
  return format;
}

/** The texts of a catalogue, in the same groups. */
export interface BoundMessages {
  readonly [key: string]: string | ((parameters: Parameters) => string) | BoundMessages;
}

/** Returns a string for each message without parameters, and a function for each other one. */
export function bindMessages(catalogue: Catalogue, format: Formatter): BoundMessages {
  const entries = Object.entries(catalogue).map(([key, entry]): [string, BoundMessages[string]] => {
    if (typeof entry === 'string') return [key, entry];
    return [key, isParts(entry) ? (parameters: Parameters) => format(entry, parameters) : bindMessages(entry, format)];
  });
  return Object.fromEntries(entries);
}

/** The parameter that takes a formatted message. Names in it are already isolated. */
const WHOLE_MESSAGE = 'message';

/**
 * Isolates the direction of a text (U+2068 and U+2069), so that a right-to-left file name does not reorder the
 * sentence around it.
 */
function isolate(text: string): string {
  return `\u2068${text}\u2069`;
}

function isParts(entry: Catalogue | readonly Part[]): entry is readonly Part[] {
  return Array.isArray(entry);
}
