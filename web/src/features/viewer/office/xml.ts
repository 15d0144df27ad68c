/** A start tag, an end tag, or a text of an XML document. Names have no prefix. */
export type XmlEvent =
  | { readonly kind: 'start'; readonly name: string; readonly attributes: string }
  | { readonly kind: 'end'; readonly name: string }
  | { readonly kind: 'text'; readonly text: string };

/** The maximum nesting of elements. */
const MAX_DEPTH = 500;

/**
 * Yields the parts of an XML document in linear time. There are no entities except the predefined ones: a document with a
 * document type, which office programs never write, is invalid. Throws an `Error` for it, and for elements that are too deep.
 */
export function* readXml(xml: string): Generator<XmlEvent> {
  let depth = 0;
  for (let at = 0; at < xml.length; ) {
    const start = xml.indexOf('<', at);
    if (start !== at) yield { kind: 'text', text: decodeReferences(xml.slice(at, start < 0 ? xml.length : start)) };
    if (start < 0) return;
    if (xml.startsWith('<![CDATA[', start)) {
      const end = endOf(xml, ']]>', start);
      yield { kind: 'text', text: xml.slice(start + 9, end - 3) };
      at = end;
    } else if (xml.startsWith('<!--', start)) at = endOf(xml, '-->', start);
    else if (xml.startsWith('<?', start)) at = endOf(xml, '?>', start);
    else if (xml.startsWith('<!', start)) throw new Error('The document has a document type.');
    else {
      at = endOf(xml, '>', start);
      const tag = xml.slice(start + 1, at - 1);
      const isEnd = tag.startsWith('/');
      const isEmpty = tag.endsWith('/');
      const name = /^\/?(?:[^\s:/]*:)?(?<name>[^\s/]*)/.exec(tag)?.groups?.['name'] ?? '';
      if (isEnd) {
        depth--;
        yield { kind: 'end', name };
        continue;
      }
      depth++;
      if (depth > MAX_DEPTH) throw new Error('The document is nested too deeply.');
      yield { kind: 'start', name, attributes: tag };
      if (!isEmpty) continue;
      depth--;
      yield { kind: 'end', name };
    }
  }
}

function endOf(xml: string, mark: string, from: number): number {
  const found = xml.indexOf(mark, from);
  if (found < 0) throw new Error('The document ends within a tag.');
  return found + mark.length;
}

/** Returns the value of an attribute by its name without a prefix; undefined if the tag lacks it. */
export function attribute(attributes: string, name: string): string | undefined {
  for (const [, key, double, single] of attributes.matchAll(/[\s:]([\w-]+)=(?:"([^"]*)"|'([^']*)')/g)) {
    if (key === name) return decodeReferences(double ?? single ?? '');
  }
  return undefined;
}

const PREDEFINED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeReferences(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(#x?[\da-f]{1,6}|[a-z]{2,4});/gi, (whole, reference: string) => {
    if (!reference.startsWith('#')) return PREDEFINED[reference] ?? whole;
    const isHex = /^#x/i.test(reference);
    const code = Number.parseInt(reference.slice(isHex ? 2 : 1), isHex ? 16 : 10);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\uFFFD';
  });
}
