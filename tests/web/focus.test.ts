import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { button, isFocused, row } from './elements.ts';
import { isListing, refuse } from './intercept.ts';
import { openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

async function openByKeyboard(page: Page, path: string): Promise<void> {
  await row(page, path).click();
  await page.keyboard.press('Enter');
}

it('The focus stays in the folder view when its contents become an error, entries, an empty folder or a filter without results', async (t) => {
  const { page } = await openSite(t, {
    files: { 'only/one.txt': '1', 'file.txt': 'file', 'empty/': '' },
    visit: { expectedErrors: [/403/] },
  });
  const upload = button(page.locator('.folder-view'), 'Upload files');

  // The page retries after this error only if the user requests it.
  await page.route(isListing, (route) => refuse(route, 'denied', 'The bucket is locked.'));
  await openByKeyboard(page, 'only/');
  await page.getByText('The server doesn’t have access to this item.').waitFor();
  const retry = button(page, 'Retry');
  await isFocused(retry);
  const requested = page.waitForResponse((response) => isListing(new URL(response.url())));
  await page.keyboard.press('Enter');
  await requested;
  await isFocused(retry);
  await page.unroute(isListing);
  await page.keyboard.press('Enter');
  await isFocused(row(page, 'only/one.txt'));

  await page.keyboard.press('Space');
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await isFocused(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await openByKeyboard(page, 'empty/');
  await isFocused(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await row(page, 'file.txt').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('file');
  await row(page, 'only/').waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowDown');
  await isFocused(row(page, 'file.txt'));
  await page.keyboard.press('Space');
  await page.keyboard.press('F2');
  await page.keyboard.type('other');
  await page.keyboard.press('Enter');
  const clear = button(page.locator('.folder-view'), 'Clear filter');
  await isFocused(clear);
  await page.keyboard.press('Enter');
  await row(page, 'other.txt').waitFor();
  await isFocused(page.locator('[data-path][tabindex="0"]'));
});
