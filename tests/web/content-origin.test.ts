import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from './browser.ts';
import { longText, pdf, photo, wav } from './samples.ts';
import { type Site, startSite } from './site.ts';
import { video } from './video.ts';

export const needs: readonly Need[] = ['browser'];

/** The status in the log of a request that the browser gave up, as it does with what it has seen enough of. */
const CLIENT_LEFT = 499;

test('The page shows the contents of files from an origin of their own', async (t) => {
  const { page, url, contents, log } = await visit(t, {
    'a.jpg': await photo(1, { width: 640, height: 480 }),
    'b.txt': longText(600_000),
    'c.pdf': pdf('Small'),
    'd.pdf': Buffer.concat([pdf('Large'), Buffer.alloc(7e6, '\n')]),
    'e.webm': await video({ seconds: 20, minimumBytes: 8e6 }),
    'f.wav': wav(3),
    'g.svg':
      '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" style="color: red"><path d="M0 0"/></svg>',
  });
  for (const [name, width] of [
    ['a.jpg', 640],
    ['g.svg', 300],
  ] as const) {
    await page.goto(`${url}?preview=${name}`);
    const image = page.getByRole('img', { name });
    await until('it is drawn', () =>
      image.evaluate((element: HTMLImageElement, wanted) => element.naturalWidth === wanted, width),
    );
  }
  await page.goto(`${url}?preview=b.txt`);
  await page.getByText('Showing the first 262 kB of 600 kB').waitFor();
  for (const name of ['c.pdf', 'd.pdf']) {
    await page.goto(`${url}?preview=${name}`);
    await until('the frame has the file', () => page.frames().some((frame) => frame.url().startsWith(contents)));
    await until('the viewer runs', () => page.frames().some((frame) => frame.url().startsWith('chrome-extension:')));
  }
  await page.goto(`${url}?preview=e.webm`);
  const player = page.locator('video');
  await until('its length is known', () => player.evaluate((element: HTMLVideoElement) => element.duration > 19));
  await player.evaluate((element: HTMLVideoElement) => {
    element.currentTime = 15;
  });
  await until('it is there', () =>
    player.evaluate((element: HTMLVideoElement) => !element.seeking && element.readyState >= 2),
  );
  await page.goto(`${url}?preview=f.wav`);
  await until('its length is known', () =>
    page.locator('audio').evaluate((element: HTMLAudioElement) => Math.round(element.duration) === 3),
  );
  const download = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await download).suggestedFilename(), 'f.wav');
  // By the service's log: the browser's protocol may ascribe the answer after a redirect to the request before it.
  const statuses = log()
    .filter(({ route }) => route === '/file/*')
    .map(({ status }) => status);
  assert.ok(statuses.length >= 7, `${statuses.length} requests`);
  assert.deepEqual(
    statuses.filter((status) => status !== 302 && status !== CLIENT_LEFT),
    [],
  );
});

test('What is opened from there is of that origin, or is kept', async (t) => {
  const { page, url, contents } = await visit(t, {
    'a.html': '<script>document.title = "ran"</script>',
    'b.txt': 'the text',
    'c.webm': await video({ seconds: 2, minimumBytes: 1000 }),
  });
  const download = page.waitForEvent('download');
  await page.goto(`${url}file/a.html`).catch(() => {});
  assert.equal(new URL((await download).url()).origin, contents);
  await page.goto(`${url}file/b.txt`);
  // Playwright's locators wait by timers, which do not run in a sandbox.
  assert.equal(await page.evaluate(() => document.body.innerText), 'the text');
  assert.equal(new URL(page.url()).origin, contents);
  await page.goto(`${url}file/c.webm`);
  await until('it plays', () => page.evaluate(() => (document.querySelector('video')?.duration ?? 0) > 1));
  assert.equal(new URL(page.url()).origin, contents);
  // Where timers run, as the end of the test waits by one.
  await page.goto(url);
});

async function visit(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<{ page: Page; url: string; contents: string; log: Site['log'] }> {
  const site = await startSite(t, { store: 'disk', files });
  const contents = `http://localhost:${new URL(site.url).port}`;
  await site.restart({ CONTENT_ORIGIN: contents });
  const page = await openPage(t, {
    url: site.url,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    allowedOrigins: [contents],
  });
  await page.context().route(`${contents}/favicon.ico`, (route) => route.fulfill({ status: 204 }));
  return { page, url: site.url, contents, log: () => site.log() };
}
