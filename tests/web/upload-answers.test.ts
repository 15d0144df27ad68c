import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { until } from '../process/until.ts';
import type { Need } from '../runner/needs.ts';
import {
  dropPaths,
  localFolder,
  openSite,
  picked,
  row,
  storedText,
  tray,
  trayTells,
  upload,
  uploadFiles,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/** Has the service do what it is asked for by uploads, and then `answer` instead of it. */
async function answerUploads(page: Page, answer: (attempt: number) => Promise<'lost' | 'given'>): Promise<void> {
  let attempts = 0;
  await page.route('**/upload', async (route) => {
    const response = await route.fetch();
    // Whoever has cancelled it waits for nothing.
    if ((await answer(++attempts)) === 'given') await route.fulfill({ response }).catch(() => {});
    else await route.abort().catch(() => {});
  });
}

const loseFirst = (attempt: number): Promise<'lost' | 'given'> => Promise.resolve(attempt === 1 ? 'lost' : 'given');
const LOST = [/ERR_FAILED/, /status of 412/];
const question = (page: Page) => page.getByRole('dialog');

describe('An upload whose answer was lost', () => {
  it('is done, and nobody is asked about the file that it stored', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: LOST } });
    await answerUploads(page, loseFirst);
    await uploadFiles(page, picked('new.txt', 'mine'));
    await trayTells(page, '1 file uploaded');
    assert.equal(await question(page).count(), 0);
    assert.deepEqual(await site.paths(), ['new.txt']);
    assert.equal(await storedText(site, 'new.txt'), 'mine');
    await row(page, 'new.txt').waitFor();
  });

  it('is stored once where both files are to be kept', async (t) => {
    const { site, page } = await openSite(t, { files: { 'a.txt': 'theirs' }, visit: { expectedErrors: LOST } });
    await answerUploads(page, loseFirst);
    await uploadFiles(page, picked('a.txt', 'mine'));
    await question(page).getByRole('button', { name: 'Keep both' }).click();
    await trayTells(page, '1 file uploaded');
    assert.deepEqual(await site.paths(), ['a (2).txt', 'a.txt']);
    assert.equal(await storedText(site, 'a (2).txt'), 'mine');
  });

  it('is told as failed where something else answered, and holds up no other', async (t) => {
    const { site, page } = await openSite(t);
    await page.route('**/upload', async (route) => {
      const isFirst = route.request().postData()?.includes('filename="a.txt"');
      if (isFirst) await route.fulfill({ status: 200, contentType: 'text/html', body: '<h1>Sign in</h1>' });
      else await route.continue();
    });
    await uploadFiles(
      page,
      ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt'].map((name) => picked(name, name)),
    );
    await trayTells(page, '4 files uploaded');
    await trayTells(page, '1 failed');
    assert.deepEqual(await site.paths(), ['b.txt', 'c.txt', 'd.txt', 'e.txt']);
  });
});

describe('What was stored', () => {
  it('is shown although its upload was cancelled', async (t) => {
    const { site, page } = await openSite(t);
    const cancelled = Promise.withResolvers<'lost'>();
    await answerUploads(page, () => cancelled.promise);
    await uploadFiles(page, picked('late.txt', 'late'));
    await until('it is stored', () => site.exists('late.txt'));
    await tray(page).getByRole('button', { name: 'Cancel all' }).click();
    await upload(page, 'late.txt').getByText('Cancelled').waitFor();
    await row(page, 'late.txt').waitFor();
    cancelled.resolve('lost');
  });

  it('is shown in its folder, also where it is the only file of it', async (t) => {
    const { site, page } = await openSite(t, { files: { 'z.txt': 'z' } });
    const local = await localFolder(t, { 'album/one.txt': '1' });
    const shown: boolean[] = [];
    await page.exposeFunction('tell', (isShown: boolean) => void shown.push(isShown));
    await page.evaluate(() => {
      const { tell } = window as unknown as { tell: (isShown: boolean) => void };
      let last: boolean | undefined;
      const look = () => {
        const isShown = document.querySelector('[data-path="album/"]') !== null;
        if (isShown !== last) tell(isShown);
        last = isShown;
      };
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    });
    await dropPaths(page, page.locator('[data-region="list"]'), [`${local}/album`]);
    await trayTells(page, '1 file uploaded');
    assert.ok(await site.exists('album/one.txt'));
    await row(page, 'album/').waitFor();
    // The folder is read again at the end, and then still there.
    await page.waitForLoadState('networkidle');
    assert.deepEqual(shown.filter(Boolean), [true]);
    await row(page, 'album/').waitFor();
  });
});

describe('A folder into which files are uploaded', () => {
  it('is gone when it was deleted, with all that was on its way', async (t) => {
    const { site, page } = await openSite(t, { files: { 'in/old.txt': 'old', 'z.txt': 'z' } });
    const goOn = Promise.withResolvers<void>();
    await page.route('**/upload', async (route) => {
      await goOn.promise;
      await route.continue();
    });
    const local = await localFolder(
      t,
      Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`${at}.txt`, `${at}`])),
    );
    await dropPaths(
      page,
      row(page, 'in/'),
      Array.from({ length: 9 }, (_, at) => `${local}/${at}.txt`),
    );
    await trayTells(page, 'Uploading');
    await row(page, 'in/').click();
    await page.keyboard.press('Delete');
    await question(page).getByRole('button', { name: 'Delete' }).click();
    await question(page).waitFor({ state: 'detached' });
    goOn.resolve();
    await trayTells(page, '9 files uploaded');
    await until('it is deleted', async () => !(await site.exists('in/')));
    assert.deepEqual(await site.paths(), ['z.txt']);
    await page.waitForLoadState('networkidle');
    assert.equal(await row(page, 'in/').count(), 0);
  });
});

describe('Retry', () => {
  it('sends no file again that the service found too large', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: [/status of 413/, /status of 400/] } });
    const sent: string[] = [];
    await page.route('**/upload', async (route) => {
      const name = /filename="([^"]*)"/.exec(route.request().postData() ?? '')?.[1] ?? '';
      sent.push(name);
      const refuse = (status: number) =>
        route.fulfill({ status, contentType: 'application/json', body: '{"success":false,"error":"Refused."}' });
      if (name === 'large.txt') await refuse(413);
      else if (sent.filter((other) => other === name).length === 1) await refuse(400);
      else await route.continue();
    });
    await uploadFiles(page, [picked('large.txt', 'large'), picked('a.txt', 'a'), picked('b.txt', 'b')]);
    await trayTells(page, '3 failed');
    await tray(page).getByRole('button', { name: 'Retry 2', exact: true }).click();
    await trayTells(page, '2 files uploaded');
    await trayTells(page, '1 failed');
    assert.equal(sent.filter((name) => name === 'large.txt').length, 1);
    assert.deepEqual(await site.paths(), ['a.txt', 'b.txt']);
  });
});

describe('The code of uploads', () => {
  it('is offered anew by a reload where the service was updated since the page was opened', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: [/status of 404/] } });
    const code = /\/all-uploads-[\w-]+\.js$/;
    const all = /\/-\/assets\//;
    const isGone = (route: Route) =>
      route.fulfill({ status: 404, contentType: 'application/json', body: '{"success":false,"error":"No."}' });
    // The page fetches it by itself a moment after it was opened: so it is gone before that, and then all the rest.
    await page.route(code, isGone);
    await page.reload();
    await page.locator('html[data-listing="complete"]').waitFor();
    await page.route(all, isGone);
    await uploadFiles(page, picked('a.txt', 'a'));
    await page.getByRole('region', { name: 'Messages' }).getByText('The service was updated.').waitFor();
    await page.unroute(all);
    await page.unroute(code);
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.locator('html[data-listing="complete"]').waitFor();
    await uploadFiles(page, picked('a.txt', 'a'));
    await trayTells(page, '1 file uploaded');
    assert.deepEqual(await site.paths(), ['a.txt']);
  });
});
