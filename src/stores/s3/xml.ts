/**
 * Called at the end of each element with its name, its own text (before, between and after its children), and its
 * depth. The root has depth 0.
 */
export type ElementReader = (name: string, text: string, depth: number) => void;

/** Maximum depth of elements. No response of a store is deeper; a deeper document is an attack on resources. */
const MAX_DEPTH = 32;

/** Thrown if a text is not an XML document of a store. */
export class NotXmlError extends Error {
  override readonly name = 'NotXmlError';
}

/**
 * Reads a document and calls `read` for each element. Ignores attributes. Supports only the predefined entities of XML
 * and numeric character references. Throws `NotXmlError` if the document is not well-formed or has a document type,
 * which could define other entities. Needs a fifth of the CPU time of the AWS SDK for a listing page of 1,000 objects.
 */
export function readXml(text: string, read: ElementReader): void {
  // Line ends are normalized as in XML 1.0, section 2.11.
  new DocumentReader(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text, read).readDocument();
}

class DocumentReader {
  readonly #document: string;
  readonly #read: ElementReader;
  readonly #nextTag: (position: number) => OpeningTag;
  /** The open elements, and their text so far. */
  readonly #open: Tag[] = [];
  readonly #texts: string[] = [];
  #isDone = false;

  constructor(document: string, read: ElementReader) {
    this.#document = document;
    this.#read = read;
    this.#nextTag = tagReader(document);
  }

  readDocument(): void {
    const document = this.#document;
    let position = document.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
    while (position < document.length) {
      const tag = document.indexOf('<', position);
      if (tag !== position) {
        this.#addText(decode(document.slice(position, tag === -1 ? document.length : tag)));
        if (tag === -1) break;
      }
      position = this.#readMarkup(tag);
    }
    if (!this.#isDone) throw new NotXmlError('The document is incomplete.');
  }

  /** Reads the markup that starts at `tag`. Returns the position to continue at. */
  #readMarkup(tag: number): number {
    const document = this.#document;
    const first = document.charCodeAt(tag + 1);
    if (first === SLASH) {
      const end = indexAfter(document, '>', tag);
      const name = document.slice(tag + 2, end - 1).trimEnd();
      if (name !== this.#open.at(-1)?.name) throw new NotXmlError(`The closing tag ${name} has no opening tag.`);
      this.#closeElement();
      return end;
    }
    if (first === QUESTION_MARK) return indexAfter(document, '?>', tag);
    if (first !== EXCLAMATION_MARK) return this.#openElement(this.#nextTag(tag));
    if (document.startsWith('<!--', tag)) return indexAfter(document, '-->', tag + 4);
    if (!document.startsWith('<![CDATA[', tag)) throw new NotXmlError('The document has a document type.');
    const end = indexAfter(document, ']]>', tag);
    this.#addText(document.slice(tag + 9, end - 3));
    return end;
  }

  #addText(text: string): void {
    const depth = this.#open.length - 1;
    if (depth >= 0) this.#texts[depth] += text;
    else if (/\S/.test(text)) throw new NotXmlError('The document has text outside of the root element.');
  }

  /**
   * Starts an element. Returns the position to continue at: after the whole element if it contains only text, otherwise
   * after the opening tag.
   */
  #openElement({ tag, end, isEmpty }: OpeningTag): number {
    const depth = this.#open.length;
    if (this.#isDone || depth === MAX_DEPTH) throw new NotXmlError(`The element ${tag.name} is not allowed here.`);
    const next = isEmpty || depth === 0 ? -1 : this.#document.indexOf('<', end);
    if (next !== -1 && this.#document.startsWith(tag.closing, next)) {
      this.#read(tag.name, decode(this.#document.slice(end, next)), depth);
      return next + tag.closing.length;
    }
    this.#open.push(tag);
    this.#texts.push('');
    if (isEmpty) this.#closeElement();
    return end;
  }

  #closeElement(): void {
    const tag = this.#open.pop();
    if (tag) this.#read(tag.name, this.#texts.pop() ?? '', this.#open.length);
    this.#isDone = this.#open.length === 0;
  }
}

/** Returns the name of the root and the texts of its children by name. The last of several equal names counts. */
export function readFields(document: string): { root: string; fields: ReadonlyMap<string, string> } {
  const fields = new Map<string, string>();
  let root = '';
  readXml(document, (name, text, depth) => {
    if (depth === 1) fields.set(name, text);
    else if (depth === 0) root = name;
  });
  return { root, fields };
}

const BYTE_ORDER_MARK = 0xfeff;
const [SLASH, QUESTION_MARK, EXCLAMATION_MARK] = [0x2f, 0x3f, 0x21];

/** Returns the position after the next occurrence of `end`. */
function indexAfter(document: string, end: string, start: number): number {
  const index = document.indexOf(end, start);
  if (index === -1) throw new NotXmlError('The document is incomplete.');
  return index + end.length;
}

/** The tags of elements with one name, in their usual form without attributes. */
interface Tag {
  readonly name: string;
  readonly opening: string;
  readonly closing: string;
  /** The opening tag that followed this one last time. */
  follower?: Tag;
}

interface OpeningTag {
  readonly tag: Tag;
  readonly end: number;
  readonly isEmpty: boolean;
}

/**
 * Returns a function that reads opening tags in document order. In a listing, the same sequence of tags repeats a
 * thousand times, so it first tries the tag that followed the previous one last time.
 */
function tagReader(document: string): (position: number) => OpeningTag {
  const known = new Map<string, Tag>();
  let last: Tag | undefined;
  return (position) => {
    const expected = last?.follower;
    if (expected && document.startsWith(expected.opening, position)) {
      last = expected;
      return { tag: expected, end: position + expected.opening.length, isEmpty: false };
    }
    const { name, end, isEmpty } = readTag(document, position);
    const tag = known.get(name) ?? { name, opening: `<${name}>`, closing: `</${name}>` };
    known.set(name, tag);
    if (last) last.follower = tag;
    last = tag;
    return { tag, end, isEmpty };
  };
}

/** Reads an opening tag. Attribute values can contain `>`. */
function readTag(document: string, position: number): { name: string; end: number; isEmpty: boolean } {
  TAG.lastIndex = position;
  const [, name, slash] = TAG.exec(document) ?? [];
  if (name === undefined) throw new NotXmlError('A tag is not well-formed or incomplete.');
  return { name, end: TAG.lastIndex, isEmpty: slash !== '' };
}

const TAG = /<([A-Za-z_][\w.:-]*)(?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*(\/?)>/y;

/** Escapes a text for the content of an element. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Replaces entity and character references in a text. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  // Nearly all references are the quotes of ETags. The general replacement would cost a sixth of a listing's time.
  const unquoted = text.replaceAll('&quot;', '"');
  return unquoted.includes('&') ? unquoted.replaceAll(/&([^;&]{0,10};)?/g, decodeReference) : unquoted;
}

function decodeReference(reference: string, name = ''): string {
  const known = ENTITIES[name];
  if (known !== undefined) return known;
  const [, hexadecimal, decimal] = /^#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(name) ?? [];
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  if (!(code <= 0x10ffff)) throw new NotXmlError(`${reference} is not a valid character reference.`);
  return String.fromCodePoint(code);
}

const ENTITIES: Readonly<Record<string, string | undefined>> = {
  'amp;': '&',
  'lt;': '<',
  'gt;': '>',
  'quot;': '"',
  'apos;': "'",
};
