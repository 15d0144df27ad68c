import assert from 'node:assert/strict';
import { glob } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { siteUrl } from '../../docs/.vitepress/links.ts';
import { allPages, readNavigation } from '../../docs/.vitepress/navigation.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const pages = (await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }))).map((path) => path.slice('docs/'.length));

describe('The list of pages in docs/README.md', () => {
  it('has each page of the docs once', () => {
    const listed = readNavigation().flatMap((group) => allPages(group).map(({ path }) => path));
    assert.ok(listed.includes('../SECURITY.md'));
    assert.deepEqual(
      listed.filter((path) => !path.startsWith('../')).toSorted(),
      pages.filter((path) => path !== 'README.md').toSorted(),
    );
  });

  it('has the four kinds of docs, and a description of each page', () => {
    const navigation = readNavigation();
    assert.deepEqual(
      navigation.map(({ title }) => title),
      ['Tutorials', 'How-to guides', 'Reference', 'Explanation'],
    );
    const listed = navigation.flatMap(allPages).filter(({ path }) => !/^decisions\/(?!README)/.test(path));
    for (const { path, description } of listed) assert.match(description, /^[^.]{10,}$/, path);
  });
});

describe('A link of a page on the site', () => {
  const at = 'https://example.org/holdall';

  it('leads to the page, to the index of a folder, or to a heading', () => {
    assert.equal(siteUrl('docs/how-to/a.md', '../reference/b.md#c', at), '../reference/b.md#c');
    assert.equal(siteUrl('docs/architecture.md', 'decisions/README.md#d', at), 'decisions/index.md#d');
    for (const url of ['#c', 'https://example.com/x.md', 'mailto:a@example.org'])
      assert.equal(siteUrl('docs/a.md', url, at), url);
  });

  it('leads to the repository if the target is not a page', () => {
    assert.equal(siteUrl('docs/how-to/a.md', '../../LICENSE', at), `${at}/blob/main/LICENSE`);
    assert.equal(siteUrl('docs/a.md', '../README.md#start', at), `${at}/blob/main/README.md#start`);
    assert.equal(siteUrl('docs/a.md', '../src/stores/', at), `${at}/tree/main/src/stores/`);
    assert.equal(
      siteUrl('docs/a.md', 'reference/access.schema.json', at),
      `${at}/blob/main/docs/reference/access.schema.json`,
    );
  });
});
