import { DavError } from './dav-error.ts';
import { INVALID_CHARACTER, XML_NAMESPACE, type XmlAttribute, type XmlElement } from './xml.ts';

/** Maximum depth and number of elements of a body. Those of clients have some five levels. */
const MAX_DEPTH = 40;
const MAX_ELEMENTS = 5000;

/** Maximum number of attributes of an element, with its namespace declarations, and maximum characters of a tag. */
const MAX_ATTRIBUTES = 50;
const MAX_TAG_LENGTH = 16 * 1024;

/** Maximum number of namespace declarations of an element and of those that contain it. */
const MAX_NAMESPACES = 100;

/**
 * Maximum characters of a name, of a namespace, and of `xml:lang`. Responses repeat them for each property of each file, so
 * that long ones would turn a small request into a huge response.
 */
const MAX_NAME_LENGTH = 250;

/**
 * Parses a document. Knows only the predefined entities and character references. Throws 400 if it is not well-formed, has a
 * document type, or exceeds a limit. An attribute `xml:lang` applies to the children of its element: it is added to those that
 * have none (RFC 4918, section 4.3).
 *
 * The time is proportional to the length of any body, because each search starts where the last one ended. The parser `sax`
 * needs minutes for 256 KiB of `<!aaa…`.
 */
export function parseXml(body: Buffer): XmlElement {
  const text = decodeBody(body);
  if (INVALID_CHARACTER.test(text)) throw invalidXml('it has a character that XML does not allow');
  return new DocumentReader(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text).read();
}

/** The namespaces that an element declares. */
interface Scope {
  readonly declared: ReadonlyMap<string, string>;
  readonly parent: Scope | undefined;
  /** The number of declarations of the scope and of its parents. */
  readonly count: number;
}

interface OpenElement {
  readonly element: XmlElement & { readonly children: (XmlElement | string)[] };
  /** The name with its prefix, which the end tag repeats. */
  readonly tag: string;
  readonly scope: Scope | undefined;
}

/** An attribute as it is written. */
interface RawAttribute {
  readonly tag: string;
  readonly value: string;
}

class DocumentReader {
  readonly #text: string;
  #position = 0;
  readonly #open: OpenElement[] = [];
  #root: XmlElement | undefined;
  #elements = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): XmlElement {
    const text = this.#text;
    while (this.#position < text.length) {
      const markup = text.indexOf('<', this.#position);
      const end = markup === -1 ? text.length : markup;
      if (end > this.#position) this.#addText(decodeReferences(text.slice(this.#position, end)));
      this.#position = end;
      if (markup !== -1) this.#readMarkup();
    }
    if (this.#open.length > 0) throw invalidXml('an element has no end');
    if (!this.#root) throw invalidXml('it has no root element');
    return this.#root;
  }

  #readMarkup(): void {
    const text = this.#text;
    const start = this.#position;
    if (text.startsWith('</', start)) return this.#readEndTag();
    if (text.startsWith('<?', start)) return void this.#skipTo('?>', start + 2);
    if (text.startsWith('<!--', start)) {
      const end = this.#skipTo('--', start + 4);
      return this.#expect('>', `a comment contains "--" at position ${end}`);
    }
    if (text.startsWith('<![CDATA[', start)) {
      const end = this.#skipTo(']]>', start + 9);
      if (this.#open.length === 0) throw invalidXml('it has text outside of the root element');
      return this.#addText(text.slice(start + 9, end));
    }
    if (text.startsWith('<!', start)) throw invalidXml('it has a document type or another declaration');
    this.#readStartTag();
  }

  /** Continues after the next occurrence of `end`. Returns the position of the occurrence. */
  #skipTo(end: string, from: number): number {
    const found = this.#text.indexOf(end, from);
    if (found === -1) throw invalidXml('it is incomplete');
    this.#position = found + end.length;
    return found;
  }

  #expect(expected: string, problem: string): void {
    if (!this.#text.startsWith(expected, this.#position)) throw invalidXml(problem);
    this.#position += expected.length;
  }

  /** Returns what a sticky expression matches at the position, and continues after it. */
  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0] ?? '';
    this.#position += found.length;
    return found;
  }

  #addText(text: string): void {
    const parent = this.#open.at(-1);
    if (parent) parent.element.children.push(text);
    else if (/[^ \t\n]/.test(text)) throw invalidXml('it has text outside of the root element');
  }

  #readEndTag(): void {
    this.#position += 2;
    const tag = this.#take(TAG_NAME);
    this.#take(SPACE);
    this.#expect('>', 'an end tag is not well-formed');
    if (this.#open.pop()?.tag !== tag) throw invalidXml(`the end tag "${tag.slice(0, 50)}" has no start tag`);
  }

  #readStartTag(): void {
    const start = this.#position;
    this.#position++;
    const tag = this.#take(TAG_NAME);
    const attributes: RawAttribute[] = [];
    for (;;) {
      const space = this.#take(SPACE);
      const isEmpty = this.#text.startsWith('/>', this.#position);
      if (isEmpty || this.#text.startsWith('>', this.#position)) {
        this.#position += isEmpty ? 2 : 1;
        this.#enter(tag, attributes);
        if (isEmpty) this.#open.pop();
        return;
      }
      if (space === '') throw invalidXml('a tag is not well-formed or incomplete');
      if (attributes.length >= MAX_ATTRIBUTES) {
        throw invalidXml(`an element has more than ${MAX_ATTRIBUTES} attributes`);
      }
      attributes.push(this.#readAttribute(start));
    }
  }

  /** Reads an attribute of the tag that begins at `tagStart`. */
  #readAttribute(tagStart: number): RawAttribute {
    const tag = this.#take(TAG_NAME);
    this.#take(SPACE);
    this.#expect('=', 'an attribute has no value');
    this.#take(SPACE);
    const quote = this.#text.charAt(this.#position);
    if (quote !== '"' && quote !== "'") throw invalidXml('the value of an attribute is not quoted');
    const start = this.#position + 1;
    const value = this.#text.slice(start, this.#skipTo(quote, start));
    if (this.#position - tagStart > MAX_TAG_LENGTH)
      throw invalidXml(`a tag has more than ${MAX_TAG_LENGTH} characters`);
    if (value.includes('<')) throw invalidXml('the value of an attribute contains "<"');
    return { tag, value: decodeReferences(value) };
  }

  #enter(tag: string, raw: readonly RawAttribute[]): void {
    const parent = this.#open.at(-1);
    if (++this.#elements > MAX_ELEMENTS) throw invalidXml(`it has more than ${MAX_ELEMENTS} elements`);
    if (this.#open.length >= MAX_DEPTH) throw invalidXml(`it has more than ${MAX_DEPTH} levels`);
    if (!parent && this.#root) throw invalidXml('it has two root elements');
    const scope = scopeOf(raw, parent?.scope);
    const { prefix, name } = parseName(tag);
    const namespace = resolve(prefix, scope);
    if (namespace === XML_NAMESPACE) throw invalidXml(`the namespace of the element "${name}" is reserved`);
    const attributes = attributesOf(raw, { scope, parent: parent?.element });
    const element = { namespace, name, attributes, children: [] };
    if (parent) parent.element.children.push(element);
    else this.#root = element;
    this.#open.push({ element, tag, scope });
  }
}

const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/';

const SPACE = /[ \t\n]*/y;

/** Up to what can follow a name. `parseName` checks the characters. */
const TAG_NAME = /[^ \t\n/>=<"'&]*/y;

/** A name without a colon (XML 1.0, section 2.3). */
const NAME =
  /^[A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u{2ff}\u{370}-\u{37d}\u{37f}-\u{1fff}\u{200c}-\u{200d}\u{2070}-\u{218f}\u{2c00}-\u{2fef}\u{3001}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{fffd}\u{10000}-\u{effff}][A-Z_a-z\-.\d\xb7\xc0-\xd6\xd8-\xf6\xf8-\u{37d}\u{37f}-\u{1fff}\u{200c}-\u{200d}\u{203f}\u{2040}\u{2070}-\u{218f}\u{2c00}-\u{2fef}\u{3001}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{fffd}\u{10000}-\u{effff}]*$/u;

interface QualifiedName {
  /** Empty without a prefix. */
  readonly prefix: string;
  readonly name: string;
}

/** Parses `prefix:name` or `name`. */
function parseName(tag: string): QualifiedName {
  const colon = tag.indexOf(':');
  const prefix = colon === -1 ? '' : tag.slice(0, colon);
  const name = tag.slice(colon + 1);
  if (Math.max(prefix.length, name.length) > MAX_NAME_LENGTH) throw tooLongName();
  if (!NAME.test(name) || (colon !== -1 && !NAME.test(prefix))) throw invalidXml(`"${tag.slice(0, 50)}" is not a name`);
  return { prefix, name };
}

/** Returns the namespace of a prefix. The empty prefix has the default namespace, which no attribute has. */
function resolve(prefix: string, scope: Scope | undefined): string {
  if (prefix === 'xml') return XML_NAMESPACE;
  for (let each = scope; each; each = each.parent) {
    const namespace = each.declared.get(prefix);
    if (namespace !== undefined) return namespace;
  }
  if (prefix === '') return '';
  throw invalidXml(`the prefix "${prefix.slice(0, 50)}" is not declared`);
}

/** Returns the prefix that an attribute declares, which is empty for the default namespace; undefined for other attributes. */
function declaredPrefix(tag: string): string | undefined {
  if (tag === 'xmlns') return '';
  return tag.startsWith('xmlns:') ? parseName(tag).name : undefined;
}

function scopeOf(raw: readonly RawAttribute[], parent: Scope | undefined): Scope | undefined {
  const declared = new Map<string, string>();
  for (const { tag, value } of raw) {
    const prefix = declaredPrefix(tag);
    if (prefix === undefined) continue;
    if (declared.has(prefix)) throw invalidXml(`it has two attributes "${tag}"`);
    if (value.length > MAX_NAME_LENGTH) throw tooLongName();
    // Namespaces in XML 1.0, section 2.2: only the default namespace can be empty.
    if (prefix !== '' && value === '') throw invalidXml(`the prefix "${prefix}" has an empty namespace`);
    if (prefix === 'xmlns' || value === XMLNS_NAMESPACE || (prefix === 'xml' && value !== XML_NAMESPACE))
      throw invalidXml(`the namespace of the prefix "${prefix}" is reserved`);
    declared.set(prefix, value);
  }
  if (declared.size === 0) return parent;
  const count = (parent?.count ?? 0) + declared.size;
  if (count > MAX_NAMESPACES) throw invalidXml(`more than ${MAX_NAMESPACES} namespaces are declared for an element`);
  return { declared, parent, count };
}

function attributesOf(
  raw: readonly RawAttribute[],
  { scope, parent }: { readonly scope: Scope | undefined; readonly parent: XmlElement | undefined },
): XmlAttribute[] {
  const found: XmlAttribute[] = [];
  const names = new Set<string>();
  for (const { tag, value } of raw) {
    if (declaredPrefix(tag) !== undefined) continue;
    const { prefix, name } = parseName(tag);
    const namespace = prefix === '' ? '' : resolve(prefix, scope);
    if (namespace === XML_NAMESPACE && name === 'lang' && value.length > MAX_NAME_LENGTH)
      throw invalidXml(`it has an xml:lang of more than ${MAX_NAME_LENGTH} characters`);
    if (names.size === names.add(`${name} ${namespace}`).size) throw invalidXml(`it has two attributes "${name}"`);
    found.push({ namespace, name, value });
  }
  const language = parent?.attributes.find(isLanguage);
  if (language && !found.some(isLanguage)) found.push(language);
  return found;
}

const isLanguage = ({ namespace, name }: XmlAttribute) => namespace === XML_NAMESPACE && name === 'lang';

/** Replaces entity and character references. */
function decodeReferences(text: string): string {
  return text.includes('&') ? text.replaceAll(/&([^;&]{0,12};)?/g, decodeReference) : text;
}

function decodeReference(reference: string, name = ''): string {
  const known = ENTITIES.get(name);
  if (known !== undefined) return known;
  const [, hexadecimal, decimal] = /^#(?:x([\da-f]+)|(\d+));$/i.exec(name) ?? [];
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  const character = code <= 0x10ffff ? String.fromCodePoint(code) : '\0';
  if (INVALID_CHARACTER.test(character))
    throw invalidXml(`"${reference}" is not a character reference or predefined entity`);
  return character;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp;', '&'],
  ['lt;', '<'],
  ['gt;', '>'],
  ['quot;', '"'],
  ['apos;', "'"],
]);

/** Returns the text of a document in UTF-8 or, with a byte order mark, in UTF-16. */
function decodeBody(body: Buffer): string {
  const mark = body.subarray(0, 2).toString('latin1');
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(body);
  } catch {
    throw invalidXml(`it is not valid ${encoding.toUpperCase()}`);
  }
}

function tooLongName(): DavError {
  return invalidXml(`it has a name or namespace of more than ${MAX_NAME_LENGTH} characters`);
}

function invalidXml(problem: string): DavError {
  return new DavError(400, `The body is not a valid XML document: ${problem}.`);
}
