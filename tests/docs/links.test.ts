import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeLinksAbsolute } from '../../scripts/links/absolute.ts';
import { checkLinks } from '../../scripts/links/check.ts';

/** Returns what the check reports, as `page:line: message`. Only the given pages and `src/main.ts` exist. */
function check(pages: Readonly<Record<string, string>>): string[] {
  const existing = ['.', 'src', 'src/main.ts', 'docs', 'docs/grid.png'];
  const problems = checkLinks(new Map(Object.entries(pages)), (path) => existing.includes(path));
  return problems.map(({ page, line, message }) => `${page}:${line}: ${message}`);
}

describe('The check of the links', () => {
  it('accepts pages, headings, folders, files and URLs that exist', () => {
    const readme = [
      '# Holdall',
      '[here](#holdall), [guide](docs/guide.md#set-up-s3), [folder](src/), [file](src/main.ts#L1), <https://example.org/x>',
      '[mail](mailto:a@example.org), [old](docs/guide.md#old-name), [defined], ![The grid](docs/grid.png)',
      '',
      '[defined]: docs/guide.md#set-up-s3-1',
    ];
    const guide =
      '## Set up `S3`!\n\n## Set up S3\n\n<a id="old-name"></a>\n\n[back](../README.md?plain=1#holdall) [up](..)\n';
    assert.deepEqual(check({ 'README.md': readme.join('\n'), 'docs/guide.md': guide }), []);
  });

  it('reports missing files and headings with page and line', () => {
    const page =
      '# Guide\n\n[gone](gone.md)\n[heading](#Guide) and [other](../README.md#no-such)\n\n| a |\n|---|\n| [x](x.md) |\n';
    assert.deepEqual(check({ 'docs/guide.md': page, 'README.md': '# Holdall' }), [
      'docs/guide.md:3: gone.md: docs/gone.md does not exist.',
      'docs/guide.md:4: #Guide: docs/guide.md has no heading for #Guide.',
      'docs/guide.md:4: ../README.md#no-such: README.md has no heading for #no-such.',
      'docs/guide.md:8: x.md: docs/x.md does not exist.',
    ]);
  });

  it('reports missing images, and images without alternative text', () => {
    const page =
      '![](docs/grid.png) ![Grid](docs/no.png) <img alt="List" src="docs/list.png">\n<source srcset="docs/dark.png 2x">';
    assert.deepEqual(check({ 'README.md': page }), [
      'README.md:1: The image docs/grid.png has no alternative text.',
      'README.md:1: docs/no.png: docs/no.png does not exist.',
      'README.md:1: docs/list.png: docs/list.png does not exist.',
      'README.md:2: docs/dark.png: docs/dark.png does not exist.',
    ]);
  });

  it('reports absolute paths and malformed URLs', () => {
    assert.deepEqual(check({ 'README.md': '[a](/docs/guide.md) [b](%zz.md)' }), [
      'README.md:1: Make /docs/guide.md relative: npm and the docs site have no such path.',
      'README.md:1: %zz.md is not a valid URL.',
    ]);
  });

  it('ignores code', () => {
    assert.deepEqual(check({ 'README.md': '`[a](a.md)`\n\n```md\n[b](b.md)\n# Heading\n```\n' }), []);
    assert.deepEqual(check({ 'README.md': '```md\n# Heading\n```\n\n[heading](#heading)' }), [
      'README.md:5: #heading: README.md has no heading for #heading.',
    ]);
  });
});

describe('The README of the package', () => {
  const absolute = (page: string) => makeLinksAbsolute(page, 'https://example.org/holdall', 'v1.2.3');

  it('links to the files and pictures of its version', () => {
    assert.equal(
      absolute(
        '[guide](docs/guide.md#start "docs/guide.md") and [![Grid](docs/grid.png)](./docs/) `[a](a.md)`\n\n[b]: b.md',
      ),
      '[guide](https://example.org/holdall/blob/v1.2.3/docs/guide.md#start "docs/guide.md") and ' +
        '[![Grid](https://example.org/holdall/raw/v1.2.3/docs/grid.png)](https://example.org/holdall/blob/v1.2.3/docs/) ' +
        '`[a](a.md)`\n\n[b]: https://example.org/holdall/blob/v1.2.3/b.md',
    );
  });

  it('links to the pictures in HTML', () => {
    const html = (folder: string) =>
      `<picture>\n  <source media="(x)" srcset="${folder}dark.webp 2x">\n  <img alt="src=" src="${folder}light.webp">\n</picture>\n`;
    assert.equal(absolute(html('docs/')), html('https://example.org/holdall/raw/v1.2.3/docs/'));
    assert.equal(absolute(html('https://example.com/')), html('https://example.com/'));
    assert.equal(absolute('a <a href="b.md">b</a>'), 'a <a href="https://example.org/holdall/blob/v1.2.3/b.md">b</a>');
  });

  it('keeps URLs and headings of the same page', () => {
    const page = '[a](#start), [b](https://example.com/b.md), <mailto:a@example.org>';
    assert.equal(absolute(page), page);
  });

  it('refuses a URL that it cannot find in the text', () => {
    assert.throws(() => absolute('[a](docs/a\\_b.md)'), { message: /^The URL docs\/a_b\.md is written with escapes/ });
  });
});
