import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { openPage, type Visit } from './browser.ts';
import { button, isFocused, row } from './elements.ts';
import { isListing, refuse } from './intercept.ts';
import { DESKTOP } from './open-site.ts';
import { startSite } from './site.ts';

export const needs: readonly Need[] = ['browser'];

async function openFiles(t: TestContext, visit: Partial<Visit> = {}): Promise<Page> {
  const site = await startSite(t, { store: 'disk', files: { 'only/one.txt': '1', 'file.txt': 'file', 'empty/': '' } });
  const page = await openPage(t, { ...DESKTOP, url: site.url, ...visit });
  await row(page, 'file.txt').waitFor();
  return page;
}

async function openByKeys(page: Page, path: string): Promise<void> {
  await row(page, path).click();
  await page.keyboard.press('Enter');
}

describe('The focus stays in the folder', () => {
  it('when it can not be read again, and when it can', async (t) => {
    const page = await openFiles(t, { expectedErrors: [/403/] });
    await page.route(isListing, (route) => refuse(route, 403, 'Not today'));
    await openByKeys(page, 'only/');
    const retry = button(page, 'Retry');
    await isFocused(retry);
    const asked = page.waitForResponse((response) => isListing(new URL(response.url())));
    await page.keyboard.press('Enter');
    await asked;
    await isFocused(retry);
    await page.unroute(isListing);
    await page.keyboard.press('Enter');
    await isFocused(row(page, 'only/one.txt'));
  });

  it('when its last entry is deleted', async (t) => {
    const page = await openFiles(t);
    await openByKeys(page, 'only/');
    await isFocused(row(page, 'only/one.txt'));
    await page.keyboard.press('Space');
    await page.keyboard.press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
    await isFocused(button(page.locator('.folder-view'), 'Upload files'));
  });

  it('when it is empty', async (t) => {
    const page = await openFiles(t);
    await openByKeys(page, 'empty/');
    await isFocused(button(page.locator('.folder-view'), 'Upload files'));
  });

  it('when a filter leaves nothing of it, and when it is cleared', async (t) => {
    const page = await openFiles(t);
    await page.keyboard.press('/');
    await page.keyboard.type('file');
    await row(page, 'only/').waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowDown');
    await isFocused(row(page, 'file.txt'));
    await page.keyboard.press('Space');
    await page.keyboard.press('F2');
    await page.keyboard.type('other');
    await page.keyboard.press('Enter');
    const clear = button(page.locator('.folder-view'), 'Clear the filter');
    await isFocused(clear);
    await page.keyboard.press('Enter');
    await row(page, 'other.txt').waitFor();
    await isFocused(page.locator('[data-path][tabindex="0"]'));
  });
});
