import sax, { type QualifiedAttribute, type QualifiedTag, type SAXParser } from 'sax';
import { DavError } from './dav-error.ts';

/** The namespace of WebDAV (RFC 4918, section 14). */
export const DAV_NAMESPACE = 'DAV:';

/** Maximum depth and number of elements of a body. Those of clients have some five levels. */
const MAX_DEPTH = 40;
const MAX_ELEMENTS = 5000;

/**
 * Maximum number of namespace declarations of an element and of those that contain it. At the end of each element, the parser
 * copies all of them.
 */
const MAX_NAMESPACES = 100;

/**
 * Maximum characters of a name, of a namespace, and of `xml:lang`. Responses repeat them for each property of each file, so
 * that long ones would turn a small request into a huge response.
 */
const MAX_NAME_LENGTH = 250;

/** Without `strictEntities`, the parser also knows the entities of HTML. Its types lack the option. */
const PARSER_OPTIONS = { xmlns: true, strictEntities: true };

/** An XML element with expanded names. Without comments and processing instructions. */
export interface XmlElement {
  /** Empty for an element without a namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly attributes: readonly XmlAttribute[];
  readonly children: readonly (XmlElement | string)[];
}

export interface XmlAttribute {
  /** Empty for an attribute without a namespace. */
  readonly namespace: string;
  readonly name: string;
  readonly value: string;
}

/**
 * Parses a document. Knows only the predefined entities and character references. Throws 400 if it is not well-formed, has a
 * document type, or has too many or too deep elements. An attribute `xml:lang` applies to the children of its element: it is
 * added to those that have none (RFC 4918, section 4.3).
 */
export function parseXml(body: Buffer): XmlElement {
  const document = new DocumentReader();
  const parser = sax.parser(true, PARSER_OPTIONS);
  document.readFrom(parser);
  const text = decode(body);
  if (INVALID_CHARACTER.test(text)) throw invalidXml('it has a character that XML does not allow');
  parser.write(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text).close();
  return document.root;
}

interface OpenElement {
  readonly element: XmlElement & { readonly children: (XmlElement | string)[] };
  /** The number of namespace declarations of the element and of those that contain it. */
  readonly namespaces: number;
}

class DocumentReader {
  readonly #open: OpenElement[] = [];
  #root: XmlElement | undefined;
  #elements = 0;

  get root(): XmlElement {
    if (!this.#root) throw invalidXml('it has no root element');
    return this.#root;
  }

  readFrom(parser: SAXParser): void {
    const addText = (text: string) => void this.#open.at(-1)?.element.children.push(text);
    Object.assign(parser, {
      onerror: (error) => {
        throw invalidXml((error.message.split('\n')[0] ?? '').replace(/\.$/, '').slice(0, 100));
      },
      ondoctype: () => {
        throw invalidXml('it has a document type');
      },
      onopentag: (tag) => this.#enter(tag as QualifiedTag),
      onclosetag: () => void this.#open.pop(),
      ontext: addText,
      oncdata: addText,
    } satisfies Partial<SAXParser>);
  }

  #enter(tag: QualifiedTag): void {
    const parent = this.#open.at(-1);
    requireName(tag);
    if (tag.uri === XML_NAMESPACE) throw invalidXml(`the namespace of the element "${tag.local}" is reserved`);
    if (++this.#elements > MAX_ELEMENTS) throw invalidXml(`it has more than ${MAX_ELEMENTS} elements`);
    if (this.#open.length >= MAX_DEPTH) throw invalidXml(`it has more than ${MAX_DEPTH} levels`);
    const namespaces = (parent?.namespaces ?? 0) + declarationsIn(tag);
    if (namespaces > MAX_NAMESPACES)
      throw invalidXml(`more than ${MAX_NAMESPACES} namespaces are declared for an element`);
    const element: OpenElement['element'] = {
      namespace: tag.uri,
      name: tag.local,
      attributes: attributesOf(tag, parent?.element),
      children: [],
    };
    if (!parent && this.#root) throw invalidXml('it has two root elements');
    if (parent) parent.element.children.push(element);
    else this.#root = element;
    this.#open.push({ element, namespaces });
  }
}

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';
const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/';

/** `prefix:name` or `name`. The parser has checked the characters. */
const QUALIFIED_NAME = /^[^:]+(?::[^:]+)?$/;

/** Throws 400 for names that the parser accepts and other parsers refuse, and for names that are too long. */
function requireName({ name, local, uri }: Pick<QualifiedAttribute, 'name' | 'local' | 'uri'>): void {
  // The parser finds prefixes such as "constructor" in the prototype of its table.
  if (!QUALIFIED_NAME.test(name) || typeof uri !== 'string') {
    throw invalidXml(`"${name.slice(0, 50)}" is not a name, or its prefix is not declared`);
  }
  if (uri === XMLNS_NAMESPACE) throw invalidXml(`the namespace of "${name.slice(0, 50)}" is reserved`);
  if (local.length > MAX_NAME_LENGTH || uri.length > MAX_NAME_LENGTH) {
    throw invalidXml(`it has a name or namespace of more than ${MAX_NAME_LENGTH} characters`);
  }
}

function declarationsIn({ attributes }: QualifiedTag): number {
  return Object.values<QualifiedAttribute>(attributes).filter(({ prefix }) => prefix === 'xmlns').length;
}

function attributesOf({ attributes }: QualifiedTag, parent: XmlElement | undefined): XmlAttribute[] {
  const found: XmlAttribute[] = [];
  const names = new Set<string>();
  for (const attribute of Object.values<QualifiedAttribute>(attributes)) {
    const { prefix, local, uri, value } = attribute;
    if (prefix !== 'xmlns') {
      requireName(attribute);
      if (uri === XML_NAMESPACE && local === 'lang' && value.length > MAX_NAME_LENGTH)
        throw invalidXml(`it has an xml:lang of more than ${MAX_NAME_LENGTH} characters`);
      if (names.size === names.add(`${local} ${uri}`).size) throw invalidXml(`it has two attributes "${local}"`);
      found.push({ namespace: uri, name: local, value });
    }
    // Namespaces in XML 1.0, section 2.2: only the default namespace can be empty. The parser calls its prefix empty.
    else if (local !== '' && value === '')
      throw invalidXml(`the prefix "${local.slice(0, 50)}" has an empty namespace`);
  }
  const language = languageOf(parent);
  if (language && !found.some(isLanguage)) found.push(language);
  return found;
}

const isLanguage = ({ namespace, name }: XmlAttribute) => namespace === XML_NAMESPACE && name === 'lang';
const languageOf = (element: XmlElement | undefined) => element?.attributes.find(isLanguage);

/** Returns the text of a document in UTF-8 or, with a byte order mark, in UTF-16. */
function decode(body: Buffer): string {
  const mark = body.subarray(0, 2).toString('latin1');
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(body);
  } catch {
    throw invalidXml(`it is not valid ${encoding.toUpperCase()}`);
  }
}

function invalidXml(problem: string): DavError {
  return new DavError(400, `The body is not a valid XML document: ${problem}.`);
}

/** Returns whether an element has this name in the namespace of WebDAV. */
export function isDav({ namespace, name }: XmlElement, expected: string): boolean {
  return namespace === DAV_NAMESPACE && name === expected;
}

/** Returns the children that are elements. */
export function elementsOf({ children }: XmlElement): readonly XmlElement[] {
  return children.filter((child) => typeof child !== 'string');
}

/** Returns the first child with this name in the namespace of WebDAV. */
export function childOf(element: XmlElement, name: string): XmlElement | undefined {
  return elementsOf(element).find((child) => isDav(child, name));
}

/** Returns the text of an element, with that of its descendants. */
export function textOf({ children }: XmlElement): string {
  return children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('');
}

/** Returns an element as text. It declares all its namespaces itself, so that it can be inserted into any document. */
export function toXml(element: XmlElement, parentNamespace?: string): string {
  const { namespace, name, children } = element;
  const declaration = namespace === parentNamespace ? '' : ` xmlns="${escapeXml(namespace)}"`;
  const attributes = element.attributes.map((attribute, index) => attributeToXml(attribute, index)).join('');
  const content = children.map((child) => (typeof child === 'string' ? escapeXml(child) : toXml(child, namespace)));
  const start = `<${name}${declaration}${attributes}`;
  return content.length === 0 ? `${start}/>` : `${start}>${content.join('')}</${name}>`;
}

function attributeToXml({ namespace, name, value }: XmlAttribute, index: number): string {
  const text = escapeXml(value);
  if (namespace === '') return ` ${name}="${text}"`;
  if (namespace === XML_NAMESPACE) return ` xml:${name}="${text}"`;
  return ` xmlns:a${index}="${escapeXml(namespace)}" a${index}:${name}="${text}"`;
}

/** Returns an empty element with a name that a client sent. */
export function emptyElement({ namespace, name }: Pick<XmlElement, 'namespace' | 'name'>): string {
  if (namespace === DAV_NAMESPACE) return `<D:${name}/>`;
  return toXml({ namespace, name, attributes: [], children: [] });
}

/** A character that no XML document can contain, not even escaped (XML 1.0, section 2.2). Names of files can. */
const INVALID_CHARACTER = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

/**
 * Escapes text for the content of an element and for an attribute. Line breaks and tabs are escaped because parsers change them
 * in attributes. Characters that XML does not allow become U+FFFD.
 */
export function escapeXml(text: string): string {
  if (!/[^\u{20}!#-%'-;=?-\u{d7ff}]/u.test(text)) return text;
  return text.replaceAll(/[&<>"\r\n\t]|[^\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, escapeCharacter);
}

/** Escapes text for the content of an element only, which quotes and line breaks don't end. */
export function escapeText(text: string): string {
  return /[^\u{20}-%'-;=?-\u{d7ff}]/u.test(text) ? escapeXml(text) : text;
}

function escapeCharacter(character: string): string {
  if (INVALID_CHARACTER.test(character)) return '\ufffd';
  return ESCAPES[character] ?? `&#${character.charCodeAt(0)};`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
