/**
 * Called at the end of each element with its name, its own text (before, between and after its children), and its
 * depth. The root has depth 0.
 */
export type ElementReader = (name: string, text: string, depth: number) => void;

/** Maximum depth of elements. No response of a store is deeper; a deeper document is an attack on resources. */
const DEEPEST = 32;

/** Thrown if a text is not an XML document of a store. */
export class NotXmlError extends Error {
  override readonly name = 'NotXmlError';
}

/**
 * Reads a document and calls `read` for each element. Ignores attributes. Supports only the predefined entities of XML
 * and numeric character references. Throws `NotXmlError` if the document is not well-formed or has a document type,
 * which could define other entities. Needs a fifth of the CPU time of the AWS SDK client for a listing page of 1,000
 * objects.
 */
export function readXml(text: string, read: ElementReader): void {
  // Line ends are normalized as in XML 1.0, section 2.11.
  const document = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
  const nextTag = tagReader(document);
  const open: Tag[] = [];
  const texts: string[] = [];
  let at = document.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0;
  let isDone = false;

  const add = (piece: string) => {
    const depth = open.length - 1;
    if (depth >= 0) texts[depth] += piece;
    else if (/\S/.test(piece)) throw new NotXmlError('There is text outside of the root.');
  };

  /**
   * Starts an element. Returns the position to continue at: after the whole element if it contains only text, otherwise
   * after the opening tag.
   */
  const begin = ({ tag, end, isEmpty }: OpeningTag): number => {
    if (isDone || open.length === DEEPEST) throw new NotXmlError(`${tag.name} has no place here.`);
    const next = isEmpty || open.length === 0 ? -1 : document.indexOf('<', end);
    if (next !== -1 && document.startsWith(tag.closing, next)) {
      read(tag.name, decode(document.slice(end, next)), open.length);
      return next + tag.closing.length;
    }
    open.push(tag);
    texts.push('');
    if (isEmpty) finish();
    return end;
  };

  const finish = () => {
    const tag = open.pop();
    if (tag) read(tag.name, texts.pop() ?? '', open.length);
    isDone = open.length === 0;
  };

  while (at < document.length) {
    const tag = document.indexOf('<', at);
    if (tag !== at) {
      add(decode(document.slice(at, tag === -1 ? document.length : tag)));
      if (tag === -1) break;
    }
    const first = document.charCodeAt(tag + 1);
    if (first === SLASH) {
      at = behind(document, '>', tag);
      const name = document.slice(tag + 2, at - 1).trimEnd();
      if (name !== open.at(-1)?.name) throw new NotXmlError(`${name} is not what was opened last.`);
      finish();
    } else if (first === QUESTION_MARK) {
      at = behind(document, '?>', tag);
    } else if (first !== EXCLAMATION_MARK) {
      at = begin(nextTag(tag));
    } else if (document.startsWith('<!--', tag)) {
      at = behind(document, '-->', tag + 4);
    } else if (document.startsWith('<![CDATA[', tag)) {
      at = behind(document, ']]>', tag);
      add(document.slice(tag + 9, at - 3));
    } else {
      throw new NotXmlError('It has a document type.');
    }
  }
  if (!isDone) throw new NotXmlError('It ends in the middle.');
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

function behind(document: string, end: string, start: number): number {
  const at = document.indexOf(end, start);
  if (at === -1) throw new NotXmlError('It breaks off.');
  return at + end.length;
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
function tagReader(document: string): (at: number) => OpeningTag {
  const known = new Map<string, Tag>();
  let last: Tag | undefined;
  return (at) => {
    const expected = last?.follower;
    if (expected && document.startsWith(expected.opening, at)) {
      last = expected;
      return { tag: expected, end: at + expected.opening.length, isEmpty: false };
    }
    const { name, end, isEmpty } = readTag(document, at);
    const tag = known.get(name) ?? { name, opening: `<${name}>`, closing: `</${name}>` };
    known.set(name, tag);
    if (last) last.follower = tag;
    last = tag;
    return { tag, end, isEmpty };
  };
}

/** Reads an opening tag. Attribute values can contain `>`. */
function readTag(document: string, tag: number): { name: string; end: number; isEmpty: boolean } {
  TAG.lastIndex = tag;
  const [, name, slash] = TAG.exec(document) ?? [];
  if (name === undefined) throw new NotXmlError('A tag is not well-formed, or breaks off.');
  return { name, end: TAG.lastIndex, isEmpty: slash !== '' };
}

const TAG = /<([A-Za-z_][\w.:-]*)(?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*(\/?)>/y;

/** Replaces entity and character references in a text. */
function decode(text: string): string {
  if (!text.includes('&')) return text;
  // Nearly all references are the quotes of ETags. The general replacement would cost a sixth of a listing's time.
  const unquoted = text.replaceAll('&quot;', '"');
  return unquoted.includes('&') ? unquoted.replaceAll(/&([^;&]{0,10};)?/g, referred) : unquoted;
}

function referred(reference: string, name = ''): string {
  const known = ENTITIES[name];
  if (known !== undefined) return known;
  const [, hexadecimal, decimal] = /^#(?:x([0-9a-f]+)|([0-9]+));$/i.exec(name) ?? [];
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  if (!(code <= 0x10ffff)) throw new NotXmlError(`${reference} stands for nothing that is known.`);
  return String.fromCodePoint(code);
}

const ENTITIES: Readonly<Record<string, string | undefined>> = {
  'amp;': '&',
  'lt;': '<',
  'gt;': '>',
  'quot;': '"',
  'apos;': "'",
};
