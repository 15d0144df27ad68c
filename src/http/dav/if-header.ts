import { DavError } from './dav-error.ts';

/** A condition on a file or folder: a lock token or other state token, or an ETag without quotes. */
export interface IfCondition {
  readonly kind: 'token' | 'etag';
  readonly value: string;
  readonly isNegated: boolean;
}

/** Conditions that must all hold. */
export interface IfList {
  /** The URL of the file or folder that they are about; undefined for that of the request. */
  readonly url: string | undefined;
  readonly conditions: readonly IfCondition[];
}

/** Maximum lists and conditions of a header. */
const MAX_CONDITIONS = 100;

const SPACE = /[ \t]*/y;
const TAG = /<([^<>\s]*)>/y;
const ETAG = /\[((?:W\/)?"[^"]*")\]/y;
const NOT = /not(?=[ \t]*[<[])/iy;

/**
 * Parses the header `If` (RFC 4918, section 10.4): lists, of which one must hold. Throws 400 if it is malformed.
 *
 * ```
 * If = 1*No-tag-list | 1*Tagged-list
 * No-tag-list = List
 * Tagged-list = Resource-Tag 1*List
 * List = "(" 1*Condition ")"
 * Condition = ["Not"] (State-token | "[" entity-tag "]")
 * ```
 */
export function parseIf(header: string): readonly IfList[] {
  const scanner = new Scanner(header);
  const lists: IfList[] = [];
  let url: string | undefined;
  let count = 0;
  const isTagged = scanner.peek() === '<';
  while (!scanner.isAtEnd()) {
    if (scanner.peek() === '<') {
      if (!isTagged) throw malformed(header);
      url = scanner.take(TAG) ?? fail(header);
      if (scanner.peek() !== '(') throw malformed(header);
    }
    if (!scanner.takeText('(')) throw malformed(header);
    const conditions: IfCondition[] = [];
    while (!scanner.takeText(')')) {
      if (++count > MAX_CONDITIONS)
        throw new DavError(400, `The header If has more than ${MAX_CONDITIONS} conditions.`);
      conditions.push(scanner.takeCondition() ?? fail(header));
    }
    if (conditions.length === 0) throw malformed(header);
    lists.push({ url, conditions });
  }
  if (lists.length === 0) throw malformed(header);
  return lists;
}

/** Returns the tokens of the locks that a request says it holds: all state tokens, in whatever list. */
export function lockTokensIn(lists: readonly IfList[]): ReadonlySet<string> {
  const tokens = lists.flatMap(({ conditions }) =>
    conditions.map(({ kind, value }) => (kind === 'token' ? value : '')),
  );
  return new Set(tokens.map(uuidOf).filter((token) => token !== undefined));
}

const LOCK_TOKEN = /^urn:uuid:([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/;

/** Returns the UUID of a lock token; undefined for any other URI. */
export function uuidOf(token: string): string | undefined {
  return LOCK_TOKEN.exec(token.toLowerCase())?.[1];
}

/** Returns the lock token of a UUID. */
export const lockTokenOf = (uuid: string) => `urn:uuid:${uuid}`;

class Scanner {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
    this.#skipSpace();
  }

  isAtEnd(): boolean {
    return this.#position === this.#text.length;
  }

  peek(): string | undefined {
    return this.#text[this.#position];
  }

  takeText(text: string): boolean {
    if (!this.#text.startsWith(text, this.#position)) return false;
    this.#position += text.length;
    this.#skipSpace();
    return true;
  }

  /** Returns the first group, or the whole match of a pattern without groups, and moves behind it. */
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (!match) return undefined;
    this.#position = pattern.lastIndex;
    this.#skipSpace();
    return match[1] ?? match[0];
  }

  takeCondition(): IfCondition | undefined {
    const isNegated = this.take(NOT) !== undefined;
    const token = this.take(TAG);
    if (token !== undefined) return { kind: 'token', value: token, isNegated };
    const etag = this.take(ETAG);
    return etag === undefined ? undefined : { kind: 'etag', value: etag, isNegated };
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#position;
    SPACE.exec(this.#text);
    this.#position = SPACE.lastIndex;
  }
}

function malformed(header: string): DavError {
  return new DavError(400, `The header If is malformed: ${JSON.stringify(header.slice(0, 200))}.`);
}

function fail(header: string): never {
  throw malformed(header);
}
