import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { DavError } from '../../src/http/dav/dav-error.ts';
import { escapeText, escapeXml, textOf, toXml, type XmlElement } from '../../src/http/dav/xml.ts';
import { parseXml } from '../../src/http/dav/xml-parser.ts';

const parse = (text: string) => parseXml(Buffer.from(text));
const declarations = (count: number) =>
  Array.from({ length: count }, (_, index) => `xmlns:p${index}="urn:x"`).join(' ');
const isBad = (error: unknown) => error instanceof DavError && error.status === 400;

describe('XML of WebDAV clients', () => {
  it('has expanded names and the language of the nearest element', () => {
    const parsed = parse(
      '<?xml version="1.0"?>\n<D:a xmlns:D="DAV:" xml:lang="de"><!-- x --><b xmlns="urn:b" c="1" D:e="2"><![CDATA[<&>]]>&amp;&#x41;</b><c/></D:a>',
    );
    const lang = { namespace: 'http://www.w3.org/XML/1998/namespace', name: 'lang', value: 'de' };
    assert.deepEqual(parsed, {
      namespace: 'DAV:',
      name: 'a',
      attributes: [lang],
      children: [
        {
          namespace: 'urn:b',
          name: 'b',
          attributes: [{ namespace: '', name: 'c', value: '1' }, { namespace: 'DAV:', name: 'e', value: '2' }, lang],
          children: ['<&>', '&A'],
        },
        { namespace: '', name: 'c', attributes: [lang], children: [] },
      ],
    });
  });

  it('is read as UTF-8, and as UTF-16 with a byte order mark', () => {
    const text = '<a>Ünï 😀</a>';
    const utf16 = Buffer.from(`\ufeff${text}`, 'utf16le');
    for (const body of [Buffer.from(text), Buffer.from(`\ufeff${text}`), utf16, Buffer.from(utf16).swap16()]) {
      assert.equal(textOf(parseXml(body)), 'Ünï 😀');
    }
  });

  it('is refused if it is malformed, hostile or too large', () => {
    for (const text of [
      '',
      'text',
      '<a>',
      '<a></b>',
      '<a/><b/>',
      '<p:a/>',
      '<a xmlns:p=""/>',
      '<a>&nbsp;</a>',
      '<a>&undefined;</a>',
      '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
      '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
      '<a>'.repeat(41) + '</a>'.repeat(41),
      `<a>${'<b/>'.repeat(5000)}</a>`,
      `<a ${declarations(101)}/>`,
      `<a ${declarations(50)}><b ${declarations(51)}/></a>`,
      '<a>\u0001</a>',
      '<a>\0</a>',
      '<a b="\uffff"/>',
      '<a>&#1;</a>',
      '<xml:a/>',
      '<xmlns:a/>',
      '<a xmlns="http://www.w3.org/2000/xmlns/"/>',
      '<constructor:a/>',
      '<a constructor:b=""/>',
      '<:a/>',
      '<p:a:b xmlns:p="urn:x"/>',
      '<a xmlns:p="urn:x" xmlns:q="urn:x" p:b="" q:b=""/>',
      '<a b="" b=""/>',
      '<a hasOwnProperty="" b=""',
      '<a xmlns:p="urn:x" xmlns:p="urn:y"/>',
      '<a b=""c=""/>',
      '<a b/>',
      '<a b=c/>',
      '<a b="<"/>',
      '<a><!-- -- --></a>',
      '<a><!x></a>',
      '<a>< b/></a>',
      '<a>&</a>',
      '<a>&#x110000;</a>',
      '<a>&#xd800;</a>',
      '<1/>',
      '<a/>text',
      '<![CDATA[a]]><a/>',
      '<a xmlns:xml="urn:x"/>',
    ]) {
      assert.throws(() => parse(text), isBad, text.slice(0, 60));
    }
    assert.throws(() => parseXml(Buffer.from([0x3c, 0x61, 0xff, 0x2f, 0x3e])), isBad);
    assert.equal(parse('<__proto__:a xmlns:__proto__="urn:x"/>').namespace, 'urn:x');
    assert.doesNotThrow(() => parse('<a>'.repeat(40) + '</a>'.repeat(40)));
    assert.doesNotThrow(() => parse(`<a ${declarations(50)}>${`<b ${declarations(50)}/>`.repeat(20)}</a>`));
  });

  it('has no name, namespace or language that is so long that repeating it makes a huge document', () => {
    const long = 'x'.repeat(251);
    for (const text of [
      `<${long}/>`,
      `<a ${long}=""/>`,
      `<a xmlns="${long}"/>`,
      `<a xmlns:p="${long}" p:b=""/>`,
      `<a xml:lang="${long}"/>`,
    ]) {
      assert.throws(() => parse(text), isBad, text.slice(0, 60));
    }
    assert.equal(textOf(parse(`<a b="${long}">${long}</a>`)), long);
  });

  it('has at most 50 attributes and 16,384 characters in a tag', () => {
    const attributes = (count: number) => Array.from({ length: count }, (_, index) => `a${index}=""`).join(' ');
    assert.equal(parse(`<a ${attributes(50)}/>`).attributes.length, 50);
    assert.throws(() => parse(`<a ${attributes(51)}/>`), /more than 50 attributes/);
    assert.equal(parse(`<a b="${'x'.repeat(16_000)}"/>`).attributes[0]?.value.length, 16_000);
    assert.throws(() => parse(`<a b="${'x'.repeat(17_000)}"/>`), /more than 16384 characters/);
  });

  it('costs CPU time in proportion to its length, whatever it contains', () => {
    const length = 256 * 1024;
    const endless = (start: string, part: string) =>
      start + part.repeat(Math.floor((length - start.length) / part.length));
    const numbered = Array.from({ length: 37_000 }, (_, index) => `a${index}=""`).join(' ');
    const documents = [
      `<a ${numbered}/>`,
      `<a ${numbered}`,
      ...['<!', '<a><!', '< !', '<a b="<!--"><!', '<?x <!--?><!', '<', '</', '<?', '<?x ', '<!--', '<a>&', '<a>&#'].map(
        (start) => endless(start, 'a1'),
      ),
      endless('<a>', '<!---->'),
      endless('<a><!--', '-a'),
      endless('<a>', '<![CDATA[a]]>'),
      endless('<a><![CDATA[', ']'),
      endless('<a>', '&lt;'),
      endless('<a b="', '&lt;'),
      endless('<a b="', 'x'),
      endless('<a ', 'x'),
      endless('<a ', 'x="" '),
      endless('<?x ', '?b'),
      endless('<a>', '<a>'),
      endless('<a>', '<a/>'),
      endless('<a ', ' '),
      endless('<a>', '\r'),
      `<a ${declarations(49)}>${'<b xmlns:c="d"/>'.repeat(4990)}</a>`,
    ];
    for (const document of documents) {
      const start = process.cpuUsage();
      assert.doesNotThrow(() => {
        try {
          parse(document);
        } catch (error) {
          if (!isBad(error)) throw error;
        }
      });
      const { user, system } = process.cpuUsage(start);
      // Some 50 ms. A quadratic parser needs seconds to minutes.
      assert.ok(user + system < 700_000, `${document.slice(0, 20)}: ${(user + system) / 1000} ms`);
    }
  });

  it('keeps its meaning when it is written and read again', () => {
    const name = fc.constantFrom('a', 'b-1', 'Ünï', '_x.y');
    const namespace = fc.constantFrom('', 'DAV:', 'urn:x', 'http://h/?a=1&b="2"');
    const text = fc
      .string({ unit: 'grapheme' })
      .map((value) => value.replaceAll(/[\p{Cc}\ufffe\uffff]/gu, ' ').toWellFormed());
    const { element } = fc.letrec<{ element: XmlElement; child: XmlElement | string }>((tie) => ({
      element: fc.record(
        {
          namespace,
          name,
          attributes: fc.uniqueArray(fc.record({ namespace, name, value: text }, { noNullPrototype: true }), {
            selector: (attribute) => `${attribute.namespace} ${attribute.name}`,
            maxLength: 3,
          }),
          children: fc.array(tie('child'), { maxLength: 3 }),
        },
        { noNullPrototype: true },
      ),
      child: fc.oneof({ maxDepth: 4 }, text, tie('element')),
    }));
    fc.assert(
      fc.property(element, (tree) => {
        assert.deepEqual(merged(parse(toXml(tree))), merged(tree));
      }),
      { numRuns: 200 },
    );
  });

  it('escapes what could end an element or attribute', () => {
    assert.equal(escapeXml('a<b>&"c\n'), 'a&lt;b&gt;&amp;&quot;c&#10;');
    assert.equal(escapeText('a<b>&"c\n\r'), 'a&lt;b&gt;&amp;&quot;c&#10;&#13;');
    for (const escape of [escapeText, escapeXml]) {
      assert.equal(escape(' é 😀\u00a0\ud7ff\ue000 \u{10ffff}'), ' é 😀\u00a0\ud7ff\ue000 \u{10ffff}');
    }
  });

  it('replaces what XML can not contain', () => {
    for (const escape of [escapeText, escapeXml]) {
      assert.equal(escape('a\0b\u0001c\uffffd\ufffee\ud800'), 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffd');
    }
  });
});

/** Returns the element with adjacent texts merged, and without empty ones. */
function merged(element: XmlElement): XmlElement {
  const children: (XmlElement | string)[] = [];
  for (const child of element.children) {
    const last = children.at(-1);
    if (typeof child !== 'string') children.push(merged(child));
    else if (typeof last === 'string') children[children.length - 1] = last + child;
    else if (child !== '') children.push(child);
  }
  return { ...element, children };
}
