/** A value of JSON, with all that is written: every digit of numbers, and keys that are there twice. */
export type JsonValue =
  | { readonly kind: 'list' | 'object'; readonly members: readonly JsonMember[] }
  | { readonly kind: 'string' | 'number' | 'boolean' | 'null'; readonly source: string };

/** Of a list, the label is the place in it, from 0. */
export type JsonMember = readonly [label: string, value: JsonValue];

/** Levels beyond which values are not taken apart. */
const MAX_DEPTH = 1_000;

/** The value of a text of JSON; a word where it is none, or too deep. The work grows with the text alone. */
export function parseJson(text: string): JsonValue | 'invalid' | 'too deep' {
  const reader = new Reader(text);
  try {
    return reader.readAll();
  } catch (error) {
    if (error instanceof NestedTooDeeply) return 'too deep';
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
          members: this.#readMembers(']', (place) => [String(place), this.#readValue(depth + 1)]),
        };
      case '"':
        return { kind: 'string', source: this.#readString() };
      default:
        return this.#readWord();
    }
  }

  #readMembers(end: string, readMember: (place: number) => JsonMember): readonly JsonMember[] {
    const members: JsonMember[] = [];
    this.#at += 1;
    if (this.#takes(end)) return members;
    do {
      members.push(readMember(members.length));
    } while (this.#takes(','));
    if (!this.#takes(end)) throw new SyntaxError('A list or an object does not end.');
    return members;
  }

  #readNamed(depth: number): JsonMember {
    if (this.#peek() !== '"') throw new SyntaxError('A member has no name.');
    const key: unknown = JSON.parse(this.#readString());
    if (!this.#takes(':')) throw new SyntaxError('A member has no value.');
    return [String(key), this.#readValue(depth + 1)];
  }

  /** As it is written, with its quotation marks; it is seen to be valid. */
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

  #takes(sign: string): boolean {
    if (this.#peek() !== sign) return false;
    this.#at += 1;
    return true;
  }

  /** The next character that is not blank; empty at the end. */
  #peek(): string {
    while (isBlank(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#text.charAt(this.#at);
  }
}

/** A space, a tab or a line end, by its code. */
const isBlank = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
