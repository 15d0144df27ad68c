import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Element, Nodes, Root } from 'hast';
import { resolveDestination } from '../../../web/src/features/viewer/markdown/links.ts';
import { renderableMarkdown } from '../../../web/src/features/viewer/markdown/parse-markdown.ts';
import { highlightLines } from '../../../web/src/features/viewer/text/highlighter.ts';
import { grammarOf } from '../../../web/src/platform/preview-kinds.ts';
import { HOSTILE_MARKDOWN } from '../samples.ts';
import { textOf as pageTextOf } from './languages.ts';

const LABELS = { footnotes: 'Footnotes', backToText: 'Back to text' };

async function parse(text: string, labels = LABELS): Promise<Root> {
  const tree = await renderableMarkdown(text, labels);
  assert.ok(tree && tree !== 'nothing');
  return tree;
}

function elementsOf(node: Nodes): Element[] {
  const children = 'children' in node ? node.children.flatMap(elementsOf) : [];
  return node.type === 'element' ? [node, ...children] : children;
}

function textOf(node: Nodes): string {
  if (node.type === 'text') return node.value;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}

const named = (tree: Nodes, name: string) => elementsOf(tree).filter(({ tagName }) => tagName === name);

describe('Rendered Markdown', () => {
  it('shows bidirectional control characters in code as code points', async () => {
    const tree = await parse('`a\u202eb` and\u202e prose\n\n```js\nlet a = "\u2066";\n```\n');
    const controls = named(tree, 'span').filter(({ properties }) => 'dataCode' in properties);
    assert.deepEqual(
      controls.map((control) => [textOf(control), control.properties['dataCode']]),
      [
        ['\u202e', '⟨U+202E⟩'],
        ['\u2066', '⟨U+2066⟩'],
      ],
    );
  });

  it('drops active elements, event handlers, styles, classes and script URLs of a hostile file', async () => {
    const tree = await parse(HOSTILE_MARKDOWN);
    const elements = elementsOf(tree);
    const allowed =
      'h2 p strong code a table thead tbody tr th td ul li input pre img br em del blockquote ol hr section sup span div';
    assert.deepEqual(
      elements.map(({ tagName }) => tagName).filter((name) => !allowed.split(' ').includes(name)),
      [],
    );
    const properties = elements.flatMap(({ properties: each }) => Object.keys(each));
    assert.deepEqual(
      properties.filter((name) => /^on|^style$|^srcdoc$|^srcset$|^action$|^name$/i.test(name)),
      [],
    );
    const links = named(tree, 'a').map(({ properties: { href } }) => href);
    assert.deepEqual([...new Set(links)], ['https://example.org/', undefined]);
    assert.deepEqual(
      named(tree, 'img').map(({ properties: { src } }) => src),
      ['x', 'https://attacker.example/pixel.png', '../photos/coast.jpg'],
    );
    assert.deepEqual(
      named(tree, 'div').map((div) => [textOf(div), div.properties]),
      [['over everything', { id: 'user-content-page' }]],
    );
    assert.doesNotMatch(textOf(tree), /display: none|alert\('(?:script|frame|svg)'\)/);
  });

  it('shows harmless HTML: line breaks, keys, details and images', async () => {
    const tree = await parse(
      [
        'line one<br>line two\n\n| a | b |\n|---|---|\n| x<br>y | <kbd>Ctrl</kbd> |\n',
        '<details><summary>More</summary>\n\nhidden *text*\n\n</details>\n',
        '<p align="center"><picture><source srcset="b.jpg"><img src="orient1.jpg" width="100"></picture></p>\n',
        '<h1>Raw heading</h1>\n',
      ].join('\n'),
    );
    assert.equal(named(tree, 'br').length, 2);
    assert.deepEqual(named(tree, 'kbd').map(textOf), ['Ctrl']);
    assert.deepEqual(named(tree, 'summary').map(textOf), ['More']);
    assert.match(named(tree, 'details').map(textOf).join(), /hidden text/);
    assert.deepEqual(
      named(tree, 'img').map(({ properties }) => properties),
      [{ src: 'orient1.jpg', width: 100 }],
    );
    assert.deepEqual([...named(tree, 'source'), ...named(tree, 'h1')], []);
    assert.equal(named(tree, 'h2')[0]?.properties['id'], 'user-content-raw-heading');
  });

  it('gives lists, quotes and tables the direction of their text, unless they are in another one', async () => {
    const tree = await parse('> words\n>\n> - item\n\n- item\n\nwords\n\n| a |\n| - |\n| b |\n');
    const directions = elementsOf(tree)
      .filter(({ tagName }) => /^(blockquote|ul|p|table)$/.test(tagName))
      .map(({ tagName, properties: { dir } }) => [tagName, dir]);
    assert.deepEqual(directions, [
      ['blockquote', 'auto'],
      ['p', undefined],
      ['ul', undefined],
      ['ul', 'auto'],
      ['p', undefined],
      ['table', 'auto'],
    ]);
  });

  it('keeps the harmless part of a hostile file', async () => {
    const tree = await parse(HOSTILE_MARKDOWN);
    const [heading] = named(tree, 'h2');
    assert.ok(heading);
    assert.equal(textOf(heading), 'Harmless heading');
    assert.equal(heading.properties['id'], 'user-content-harmless-heading');
    assert.deepEqual(named(tree, 'strong').map(textOf), ['bold words']);
    assert.deepEqual(named(tree, 'td').map(textOf), ['one', '1']);
    assert.deepEqual(
      named(tree, 'input').map(({ properties: { checked } }) => Boolean(checked)),
      [true, false],
    );
    const [fence] = named(tree, 'pre');
    assert.ok(fence);
    assert.equal(textOf(fence).trim(), `<script>alert('fence')</script>`);
    assert.ok(elementsOf(fence).some(({ properties: { className } }) => String(className).includes('hljs-name')));
  });

  it('links only to web pages, mail addresses, files and headings', async () => {
    const hrefOf = async (destination: string) =>
      named(await parse(`[link](${destination})`), 'a').map(({ properties: { href } }) => href)[0];
    for (const destination of [
      'https://x.example/',
      'http://x.example/',
      'mailto:a@x.example',
      '../b.txt',
      '/c',
      '#d',
    ]) {
      assert.equal(await hrefOf(destination), destination);
    }
    for (const destination of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'blob:https://x.example/1',
    ]) {
      assert.equal(await hrefOf(destination), undefined, destination);
    }
  });

  it('gives each heading an ID of its own, one level below the heading of the page', async () => {
    const tree = await parse('# Top\n\n## Far below\n\n## Far below\n\n###### 深い 見出し!\n');
    const headings = elementsOf(tree).filter(({ tagName }) => /^h\d$/.test(tagName));
    assert.deepEqual(
      headings.map(({ tagName, properties: { id } }) => `${tagName} ${id}`),
      [
        'h2 user-content-top',
        'h3 user-content-far-below',
        'h3 user-content-far-below-1',
        'h6 user-content-深い-見出し',
      ],
    );
  });

  it('omits front matter, and decodes character references', async () => {
    const tree = await parse('---\ntitle: x\n---\n&copy; 2026\n');
    assert.equal(textOf(tree).trim(), '© 2026');
  });

  it('labels footnotes in the language of the page', async () => {
    for (const [tag, heading, back] of [
      ['en', 'Footnotes', 'Back to text'],
      ['zh-Hans', '脚注', '返回正文'],
    ] as const) {
      const { footnotes, backToText } = (await pageTextOf(tag)).previews;
      const tree = await parse('Words[^1]\n\n[^1]: The note\n', { footnotes, backToText });
      assert.ok(named(tree, 'h3').some((element) => textOf(element) === heading));
      assert.ok(named(tree, 'a').some(({ properties }) => properties['ariaLabel'] === back));
    }
  });

  it('highlights code of a known language', async () => {
    const tree = await parse(
      `${'# Heading\n\nSome *words* with a [link](b.txt).\n\n'.repeat(300)}\n\`\`\`js\nconst a = 1;\n\`\`\`\n`,
    );
    assert.equal(named(tree, 'h2').length, 300);
    const keywords = elementsOf(tree).filter(({ properties }) => String(properties['className']).includes('keyword'));
    assert.deepEqual(keywords.map(textOf), ['const']);
    assert.equal(named(await parse('```nonsense\nconst a = 1;\n```'), 'span').length, 0);
  });

  it('is undefined above the limits of elements and depth', async () => {
    assert.equal(await renderableMarkdown('[a](b) '.repeat(10_100), LABELS), undefined);
    assert.equal(await renderableMarkdown(`${'> '.repeat(1_000)}x`, LABELS), undefined);
    const nested = Array.from({ length: 100 }, (_, depth) => `${'  '.repeat(depth)}- x`).join('\n');
    assert.equal(await renderableMarkdown(nested, LABELS), undefined);
  });

  it('is "nothing" for a file of HTML that shows nothing', async () => {
    assert.equal(await renderableMarkdown('<div>\n<!-- words -->\n<style>p {}</style>\n</div>\n', LABELS), 'nothing');
    assert.notEqual(await renderableMarkdown('<div>\n<p>words</p>\n</div>\n', LABELS), 'nothing');
    assert.notEqual(await renderableMarkdown('![](a.jpg)\n', LABELS), 'nothing');
  });
});

describe('A destination in Markdown', () => {
  it('never leaves the service as a path', () => {
    for (const [reference, path] of [
      ['../../../../etc/passwd', 'etc/passwd'],
      ['..%2f..%2fx', 'x'],
      ['%2e%2e/x', 'a/x'],
      ['./#?', 'a/b/'],
      ['a%00b', 'a/b/a\0b'],
    ]) {
      assert.deepEqual(resolveDestination('a/b/', reference ?? ''), { kind: 'path', path });
    }
  });
});

describe('Highlighted code', () => {
  it('has the grammar of the name, the extension or the first line', () => {
    for (const [name, text, grammar] of [
      ['a.ts', '', 'ts'],
      ['a.mts', '', 'typescript'],
      ['a.geojson', '', 'json'],
      ['a.vue', '', 'xml'],
      ['Makefile', '', 'makefile'],
      ['.bashrc', '', 'bash'],
      ['run', '#!/usr/bin/env python3\n', 'python'],
      ['run', '#!/usr/bin/env node\n', 'javascript'],
      ['notes.txt', '', ''],
      ['LICENSE', 'words', undefined],
      ['a.ts', 'x'.repeat(200_001), undefined],
    ] as const) {
      assert.equal(grammarOf(name, text) || undefined, grammar || undefined, `${name} ${text.slice(0, 30)}`);
    }
  });

  it('has all characters of the source, line by line', () => {
    const source = `const a = '</script><script>alert(1)</script>';\r\n/* two\nlines */\n`;
    const lines = highlightLines(source, 'js');
    assert.deepEqual(
      lines?.map((line) => line.map(([, part]) => part).join('')),
      source.split(/\r\n|\n/),
    );
    assert.deepEqual(lines?.[0]?.[0], ['hljs-keyword', 'const']);
    assert.equal(lines?.[2]?.[0]?.[0], 'hljs-comment');
  });

  it('is undefined for an unknown grammar and above the limits of parts', () => {
    assert.equal(highlightLines('x', 'nonsense'), undefined);
    assert.equal(highlightLines('1,'.repeat(5_001), 'js'), undefined);
    assert.equal(highlightLines('1,\n'.repeat(50_001), 'js'), undefined);
    assert.equal(highlightLines('1,\n'.repeat(1_000), 'js')?.length, 1_001);
  });
});
