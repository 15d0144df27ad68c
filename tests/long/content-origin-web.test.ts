// Only this file proves that browsers show images, texts, videos and audio of CONTENT_ORIGIN inside of the page, and open its
// files. It takes as long as two journeys of tests/web; tests/http proves the redirects and headers.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from '../web/browser.ts';
import { longText, photo, wav } from '../web/samples.ts';
import { type Site, startSite } from '../web/site.ts';
import { video } from '../web/video.ts';

export const needs: readonly Need[] = ['browser'];

/** The status in the log of a request that the browser cancelled, for example for the rest of a video. */
const CLIENT_LEFT = 499;

test('The page displays and opens files from their own origin', async (t) => {
  const { page, url, contents, log } = await visit(t, {
    'a.jpg': await photo(1, { width: 640, height: 480 }),
    'b.txt': longText(600_000),
    'e.webm': await video({ seconds: 20, framesPerSecond: 1, minimumBytes: 8e6 }),
    'f.wav': wav(3),
    'g.svg':
      '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200" style="color: red"><path d="M0 0"/></svg>',
    'h.html': '<script>document.title = "ran"</script>',
    'i.txt': 'the text',
  });
  const isDrawn = (name: string, width: number) =>
    until(`${name} is drawn`, () =>
      page
        .getByRole('img', { name })
        .evaluate((element: HTMLImageElement, wanted) => element.naturalWidth === wanted, width),
    );
  const next = () => page.getByRole('button', { name: 'Next file' }).click();
  await isDrawn('a.jpg', 640);
  await next();
  await page.getByText('Showing the first \u2068262 kB\u2069 of \u2068600 kB\u2069').waitFor();
  await next();
  const player = page.locator('video');
  await until('its length is known', () => player.evaluate((element: HTMLVideoElement) => element.duration > 19));
  await player.evaluate((element: HTMLVideoElement) => {
    element.currentTime = 15;
  });
  await until('it is there', () =>
    player.evaluate((element: HTMLVideoElement) => !element.seeking && element.readyState >= 2),
  );
  await next();
  await until('its length is known', () =>
    page.locator('audio').evaluate((element: HTMLAudioElement) => Math.round(element.duration) === 3),
  );
  const saved = page.waitForEvent('download');
  await page.getByRole('dialog').getByRole('link', { name: 'Download' }).last().click();
  assert.equal((await saved).suggestedFilename(), 'f.wav');
  await next();
  await isDrawn('g.svg', 300);
  // Uses the service's log, because the browser's protocol can assign the response after a redirect to the first request.
  const statuses = log()
    .filter(({ route }) => route === '/file/*')
    .map(({ status }) => status);
  assert.ok(statuses.length >= 5, `${statuses.length} requests`);
  assert.deepEqual(
    statuses.filter((status) => status !== 302 && status !== CLIENT_LEFT),
    [],
  );

  const download = page.waitForEvent('download');
  await page.goto(`${url}file/h.html`).catch(() => {});
  assert.equal(new URL((await download).url()).origin, contents);
  await page.goto(`${url}file/i.txt`);
  // Playwright's locators wait by timers, which do not run in a sandbox.
  assert.equal(await page.evaluate(() => document.body.innerText), 'the text');
  assert.equal(new URL(page.url()).origin, contents);
  await page.goto(`${url}file/e.webm`);
  await until('it plays', () => page.evaluate(() => (document.querySelector('video')?.duration ?? 0) > 1));
  assert.equal(new URL(page.url()).origin, contents);
  // Closing the page waits by a timer, too.
  await page.goto(`${url}-/session`);
});

/** Opens the first file of a site whose files have their own origin. */
async function visit(
  t: TestContext,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<{ page: Page; url: string; contents: string; log: Site['log'] }> {
  const port = await findFreePort();
  const contents = `http://localhost:${port}`;
  const settings = { PORT: String(port), CONTENT_ORIGIN: contents };
  const site = await startSite(t, { store: 'disk', files, settings });
  const page = await openPage(t, {
    url: `${site.url}?preview=a.jpg`,
    width: 'desktop',
    theme: 'light',
    language: 'en',
    allowedOrigins: [contents],
  });
  await page.context().route(`${contents}/favicon.ico`, (route) => route.fulfill({ status: 204 }));
  return { page, url: site.url, contents, log: () => site.log() };
}
