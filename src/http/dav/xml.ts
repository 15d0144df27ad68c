/** The namespace of WebDAV (RFC 4918, section 14). */
export const DAV_NAMESPACE = 'DAV:';

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

/** The namespace of the prefix `xml`. */
export const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

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
export const INVALID_CHARACTER = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

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
