import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage, type Visit } from './browser.ts';
import { DESKTOP } from './open-site.ts';
import { pdf } from './samples.ts';
import { type Site, startSite } from './site.ts';

export const needs: readonly Need[] = ['bucket', 'chromium'];

const FILES = { 'small.pdf': pdf('Small'), 'large.pdf': Buffer.concat([pdf('Large'), Buffer.alloc(7e6, '\n')]) };

describe('The preview of a PDF shows the PDF viewer of the browser', () => {
  it('for files on disk', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const page = await open(t, site);
    await assertShown(page, site, { 'small.pdf': `${site.url}file/small.pdf`, 'large.pdf': `${site.url}-/signed/` });
  });

  it('for files on the content origin', async (t) => {
    const site = await startSite(t, { store: 'disk', files: FILES });
    const contents = `http://localhost:${new URL(site.url).port}`;
    await site.restart({ CONTENT_ORIGIN: contents });
    const page = await open(t, site, { allowedOrigins: [contents] });
    await assertShown(page, site, { 'small.pdf': contents, 'large.pdf': contents });
  });

  it('for files in a bucket, where the store serves large files', async (t) => {
    const site = await startSite(t, { store: 's3', files: FILES });
    const [store = ''] = site.bucketOrigins;
    const page = await open(t, site, { allowedOrigins: site.bucketOrigins });
    await assertShown(page, site, { 'small.pdf': `${site.url}file/small.pdf`, 'large.pdf': store });
  });
});

const open = (t: TestContext, { url }: Site, visit: Partial<Visit> = {}) =>
  openPage(t, { ...DESKTOP, ...visit, url, hasPdfViewer: true });

/** Asserts that the preview of each file shows the viewer, with the file from a URL with this beginning. */
async function assertShown(page: Page, site: Site, urls: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, url] of Object.entries(urls)) {
    await page.goto(`${site.url}?preview=${name}`);
    const hasFrame = (start: string) => page.frames().some((frame) => frame.url().startsWith(start));
    await until(`a frame has ${name}`, () => hasFrame(url));
    await until(`the viewer shows ${name}`, () => hasFrame('chrome-extension:'));
  }
}
