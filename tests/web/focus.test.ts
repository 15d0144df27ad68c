import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { button, renameByKeyboard, row, waitForElementFocus } from './elements.ts';
import { isListing, refuse } from './intercept.ts';
import { openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

async function openByKeyboard(page: Page, path: string): Promise<void> {
  await row(page, path).click();
  await page.keyboard.press('Enter');
}

it('The focus stays in the folder view when its contents change to another state', IN_FULL_FORM_ONLY, async (t) => {
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
  await waitForElementFocus(retry);
  const requested = page.waitForResponse((response) => isListing(new URL(response.url())));
  await page.keyboard.press('Enter');
  await requested;
  await waitForElementFocus(retry);
  await page.unroute(isListing);
  await page.keyboard.press('Enter');
  await waitForElementFocus(row(page, 'only/one.txt'));

  await page.keyboard.press('Control+Space');
  await page.keyboard.press('Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await waitForElementFocus(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await openByKeyboard(page, 'empty/');
  await waitForElementFocus(upload);

  await page.keyboard.press('Alt+ArrowUp');
  await row(page, 'file.txt').waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('file');
  await row(page, 'only/').waitFor({ state: 'detached' });
  await page.keyboard.press('ArrowDown');
  await waitForElementFocus(row(page, 'file.txt'));
  await page.keyboard.press('Control+Space');
  await renameByKeyboard(page, 'other');
  const clear = button(page.locator('.folder-view'), 'Clear filter');
  await waitForElementFocus(clear);
  await page.keyboard.press('Enter');
  await row(page, 'other.txt').waitFor();
  await waitForElementFocus(page.locator('[data-path][tabindex="0"]'));
});

it('The focus stays in the viewer when the window is resized to another layout, which removes the focused button', async (t) => {
  const { page } = await openSite(t, { files: { 'one.txt': '1', 'two.txt': '2' } });
  await openByKeyboard(page, 'one.txt');
  const dialog = page.locator('dialog.viewer');
  await button(dialog, 'Next file').waitFor();
  const buttons = dialog.locator('button:visible');
  const isInDialog = () => dialog.evaluate((element) => element.contains(document.activeElement));
  const resize = async (width: number) => {
    await page.setViewportSize({ width, height: 800 });
    // The page renders in the first frame, and returns the focus in the second one.
    for (let frame = 0; frame < 3; frame++) await page.evaluate(() => new Promise(requestAnimationFrame));
  };
  for (const [width, other] of [
    [1440, 390],
    [390, 1440],
  ] as const) {
    await resize(width);
    const count = await buttons.count();
    for (let index = 0; index < count; index++) {
      await resize(width);
      await buttons.nth(index).focus();
      await resize(other);
      await becomes(isInDialog, true);
    }
  }
});
