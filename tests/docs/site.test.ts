import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { siteUrl } from '../../docs/.vitepress/links.ts';
import { allPages, readNavigation, sitePath } from '../../docs/.vitepress/navigation.ts';
import { readFeatures, repository } from '../../docs/.vitepress/project.ts';
import { type BuiltSite, buildSite } from './build-site.ts';

/** A path that the site is served below. */
const BASE = '/some/path/';

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

describe('The docs site', () => {
  let site = '';
  let built: BuiltSite | undefined;
  before(async () => {
    built = await buildSite();
    site = built.folder;
  });
  after(() => built?.remove());

  it('has all pages, and no broken link or missing file below another path', async () => {
    for (const page of pages) assert.ok(existsSync(join(site, sitePath(page).replace(/md$/, 'html'))), page);
    let checked = 0;
    for await (const file of glob('**/*.html', { cwd: site })) {
      if (file === '404.html') continue;
      for (const url of urlsIn(await readFile(join(site, file), 'utf8'))) {
        if (/^(https?|mailto|data):|^#/.test(url)) continue;
        checked++;
        const { pathname } = new URL(url, `http://site${BASE}${file}`);
        assert.ok(pathname.startsWith(BASE), `${file}: ${url}`);
        const target = join(site, decodeURIComponent(pathname.slice(BASE.length)).replace(/(^|\/)$/, '$1index.html'));
        assert.ok(existsSync(target), `${file}: ${url}`);
      }
    }
    assert.ok(checked > 1000, `${checked}`);
  });

  it('loads nothing from other sites', async () => {
    for await (const file of glob('**/*.{html,css}', { cwd: site })) {
      const text = await readFile(join(site, file), 'utf8');
      assert.doesNotMatch(text, /<(?:script|img|iframe|source|video)[^>]*\ssrc="(?:https?:)?\/\//, file);
      assert.doesNotMatch(text, /<link[^>]*\shref="(?:https?:)?\/\//, file);
      assert.doesNotMatch(text, /(?:url\(|@import)\s*["']?(?:https?:)?\/\//, file);
    }
  });

  it('has a home page with the reasons of README.md', async () => {
    const home = await readFile(join(site, 'index.html'), 'utf8');
    const features = readFeatures();
    assert.ok(features.length >= 3);
    for (const { title } of features) assert.ok(home.includes(`>${title}</h2>`), title);
    assert.ok(home.includes(`href="${repository}"`));
  });

  it('has llms.txt with the Markdown of each page', async () => {
    const text = await readFile(join(site, 'llms.txt'), 'utf8');
    assert.match(text, /^# Holdall\n\n> One HTTP API .*\n\n## Tutorials\n\n- \[First run\]/);
    const targets = Array.from(text.matchAll(/^- \[[^\]]+\]\(([^)]+)\)/gm), ([, target = '']) => target);
    assert.ok(targets.includes(`${repository}/blob/main/SECURITY.md`));
    const own = targets.filter((target) => !target.startsWith(repository));
    assert.equal(own.length, pages.length - 1);
    for (const target of own)
      assert.equal(await readFile(join(site, target), 'utf8'), await readFile(join(ROOT, 'docs', target), 'utf8'));
  });
});

/** Returns the URLs of links, scripts, styles and images in a page. */
function urlsIn(html: string): string[] {
  return Array.from(html.matchAll(/<(?:a|link|script|img)\b[^>]*?\s(?:href|src)="([^"]*)"/g), ([, url = '']) =>
    url.replaceAll('&amp;', '&'),
  );
}
