import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { button, contents, messages, row, waitForElementFocus } from './elements.ts';
import { visitSite } from './open-site.ts';
import { testFile, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const CODE = /\/viewer-[\w-]+\.js$/;

test(
  'The code of the viewer is preloaded, can be left while it loads, and is requested again after a failure',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const { page, site } = await visitSite(t, {
      files: { 'a.txt': 'first' },
      path: '-/session',
      visit: { expectedErrors: [/viewer-|ERR_FAILED/] },
    });
    const held: (() => void)[] = [];
    await page.route(CODE, (route) => new Promise<void>((resolve) => held.push(resolve)).then(() => route.continue()));
    await page.goto(site.url);
    await until('the code is requested', () => held.length > 0);
    assert.equal(await page.getByRole('dialog').count(), 0);
    const dialog = page.getByRole('dialog', { name: 'a.txt' });
    await row(page, 'a.txt').click();
    await page.keyboard.press('Enter');
    await dialog.getByText('Loading').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await waitForElementFocus(row(page, 'a.txt'));
    await becomes(() => page.url(), site.url);

    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.goBack();
    await dialog.waitFor({ state: 'detached' });

    await page.keyboard.press('Enter');
    await dialog.waitFor();
    for (const release of held) release();
    await contents(page).getByText('first').waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await waitForElementFocus(row(page, 'a.txt'));
    await becomes(() => page.url(), site.url);

    await page.unroute(CODE);
    await page.route(CODE, (route) => route.abort());
    await page.goto(`${page.url()}?preview=a.txt`);
    const alert = page.getByRole('alert').filter({ hasText: 'Couldn’t load the preview' });
    await alert.waitFor();
    await page.unroute(CODE);
    await alert.getByRole('button', { name: 'Retry' }).click();
    await contents(page).getByText('first').waitFor();
    await until('the stage has the focus', () =>
      page.evaluate(() => document.activeElement?.classList.contains('stage') === true),
    );
  },
);

test(
  'A page of an earlier version offers to reload when the code of a preview or of uploads is gone',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const files = { 'a.txt': 'first', 'b.md': '# first', 'c.csv': 'first,second' };
    const { page, site } = await visitSite(t, { files, path: '-/session', visit: { expectedErrors: [/\.js/] } });
    // After an upgrade, the code of the earlier version is gone, including the script that the page was started with.
    let gone = /\/(viewer|upload-model)-/;
    const isGone = (request: Request) => request.method() === 'HEAD' || gone.test(request.url());
    await page.route('**/*.js', (route, request) =>
      isGone(request) ? route.fulfill({ status: 404 }) : route.continue(),
    );
    const alert = page.getByRole('alert').filter({ hasText: 'A new version is available.' });
    const reload = alert.getByRole('button', { name: 'Reload' });
    await page.goto(`${site.url}?preview=a.txt`);
    await alert.waitFor();
    assert.equal(await alert.getByRole('button', { name: 'Retry' }).count(), 0);

    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await uploadFiles(page, testFile('new.txt', 'new'));
    await messages(page).getByText('A new version is available.').waitFor();

    gone = /\/(text-preview|worker)-/;
    await button(messages(page), 'Reload').click();
    await row(page, 'a.txt').dblclick();
    for (const name of ['a.txt', 'b.md', 'c.csv']) {
      const dialog = page.getByRole('dialog', { name });
      await dialog.locator(alert).waitFor();
      assert.equal(await dialog.getByRole('button', { name: 'Retry' }).count(), 0);
      if (name !== 'c.csv') await page.getByRole('button', { name: 'Next file' }).click();
    }
    await page.unroute('**/*.js');
    await reload.click();
    await contents(page).getByText('first').waitFor();
    await page.keyboard.press('Escape');
    await uploadFiles(page, testFile('new.txt', 'new'));
    await trayShows(page, '1 file uploaded');
    assert.ok(await site.exists('new.txt'));
  },
);
