/*
 * The docs site as its files: only here are the links of the built pages checked. Building it takes as long as all other tests
 * of the docs.
 */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sitePath } from '../../docs/.vitepress/navigation.ts';
import { readFeatures, repository } from '../../docs/.vitepress/project.ts';
import { type BuiltSite, buildSite } from '../docs/build-site.ts';

/** A path that the site is served below. */
const BASE = '/some/path/';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const pages = (await Array.fromAsync(glob('docs/**/*.md', { cwd: ROOT }))).map((path) => path.slice('docs/'.length));

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
