/** A JSON value as it is written, with all digits of numbers and with repeated keys. */
export type JsonValue =
  | { readonly kind: 'list' | 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'string' | 'number' | 'boolean' | 'null'; readonly source: string };

/** In a list, the label is the index from 0. */
export type JsonMember = readonly [label: string, value: JsonValue];

/** The maximum nesting of parsed values. */
const MAX_DEPTH = 1_000;

/** Parses JSON in linear time. Returns a word for text that is not JSON, or is nested too deeply. */
export function parseJson(text: string): JsonValue | 'invalid' | 'too-deep' {
  const reader = new Reader(text);
  try {
    return reader.readAll();
  } catch (error) {
    if (error instanceof NestedTooDeeply) return 'too-deep';
    if (error instanceof SyntaxError) return 'invalid';
    throw error;
  }
}

class NestedTooDeeply extends Error {}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): JsonValue {
    const value = this.#readValue(0);
    if (this.#peek() !== '') throw new SyntaxError('There is more after the value.');
    return value;
  }

  #readValue(depth: number): JsonValue {
    if (depth > MAX_DEPTH) throw new NestedTooDeeply();
    switch (this.#peek()) {
      case '{':
        return { kind: 'object', members: this.#readMembers('}', () => this.#readNamed(depth)) };
      case '[':
        return {
          kind: 'list',
          members: this.#readMembers(']', (index) => [String(index), this.#readValue(depth + 1)]),
        };
      case '"':
        return { kind: 'string', source: this.#readString() };
      default:
        return this.#readWord();
    }
  }

  #readMembers(end: string, readMember: (index: number) => JsonMember): readonly JsonMember[] {
    const members: JsonMember[] = [];
    this.#at += 1;
    if (this.#skip(end)) return members;
    do {
      members.push(readMember(members.length));
    } while (this.#skip(','));
    if (!this.#skip(end)) throw new SyntaxError('A list or an object does not end.');
    return members;
  }

  #readNamed(depth: number): JsonMember {
    if (this.#peek() !== '"') throw new SyntaxError('A member has no name.');
    const key: unknown = JSON.parse(this.#readString());
    if (!this.#skip(':')) throw new SyntaxError('A member has no value.');
    return [String(key), this.#readValue(depth + 1)];
  }

  /** Returns a string as it is written, with its quotation marks, after it was validated. */
  #readString(): string {
    const start = this.#at;
    for (let end = this.#text.indexOf('"', start + 1); end > 0; end = this.#text.indexOf('"', end + 1)) {
      let escapes = 0;
      while (this.#text[end - 1 - escapes] === '\\') escapes += 1;
      if (escapes % 2 === 1) continue;
      this.#at = end + 1;
      const source = this.#text.slice(start, this.#at);
      JSON.parse(source);
      return source;
    }
    throw new SyntaxError('A string does not end.');
  }

  #readWord(): JsonValue {
    const word = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
    word.lastIndex = this.#at;
    const [source] = word.exec(this.#text) ?? [];
    if (source === undefined) throw new SyntaxError('This is no value.');
    this.#at = word.lastIndex;
    if (source === 'null') return { kind: 'null', source };
    return { kind: source === 'true' || source === 'false' ? 'boolean' : 'number', source };
  }

  #skip(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at += 1;
    return true;
  }

  /** Returns the next character after white space; empty at the end. */
  #peek(): string {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#text.charAt(this.#at);
  }
}

/** Returns whether a character code is a space, a tab or a line break. */
const isBlank = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
