import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { row } from './elements.ts';
import { openSite } from './open-site.ts';
import { dropPaths, localFolder, picked, trayTells, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const question = (page: Page) => page.getByRole('dialog');

describe('A folder that is deleted during uploads into it', () => {
  it('is deleted after them, and stays invisible', async (t) => {
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

describe('A page of an earlier version, which lacks the code of uploads', () => {
  it('offers to reload', async (t) => {
    const { site, page } = await openSite(t, { visit: { expectedErrors: [/status of 404/] } });
    const code = /\/all-uploads-[\w-]+\.js$/;
    const all = /\/-\/assets\//;
    const isGone = (route: Route) =>
      route.fulfill({ status: 404, contentType: 'application/json', body: '{"success":false,"error":"No."}' });
    // The page preloads the code shortly after it opens, so the code is gone before that, and then everything else.
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
