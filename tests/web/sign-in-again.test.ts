import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { button, renameByKeyboard, row, waitForElementFocus } from './elements.ts';
import {
  ANN,
  accountButton,
  assertForgotten,
  EVE,
  fillSignInForm,
  signIn,
  signInDialog,
  storedNames,
  UNAUTHORIZED,
  visit,
} from './signing-in.ts';
import { testFile, tray, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/** The response to a request about an upload whose user is not signed in any longer. */
const NOT_FOUND = /404/;

const SIX = Array.from({ length: 6 }, (_, index) => testFile(`new ${index}.txt`, String(index)));

/** Ends the session, as if it was revoked on another device. */
const endSession = (page: Page) => page.context().clearCookies();

async function signInAgain(page: Page): Promise<void> {
  await signInDialog(page).waitFor();
  await waitForElementFocus(page.getByLabel('Password'));
  assert.equal(await page.getByLabel('Username', { exact: true }).inputValue(), ANN.name);
  await fillSignInForm(page, { password: ANN.password });
  const refreshed = page.waitForResponse((response) => response.ok() && response.url().includes('/?prefix='));
  await page.keyboard.press('Enter');
  await signInDialog(page).waitFor({ state: 'detached' });
  // A test that then ends the session must not end it for this request.
  await refreshed;
  await accountButton(page).waitFor();
}

describe('A page whose session expired', () => {
  it('continues its work after signing in again, and cancels it when another user signs in', async (t) => {
    const { page, site } = await visit(t, 'photos/', { expectedErrors: [UNAUTHORIZED, NOT_FOUND] });
    await signIn(page);
    await row(page, 'photos/dog.txt').click();
    await endSession(page);
    // A request of the page itself does not interrupt the user.
    await page.keyboard.press('F2');
    const rejected = page.waitForResponse((response) => response.url().includes('/-/locks') && !response.ok());
    await page.evaluate(() => window.dispatchEvent(new Event('focus')));
    await rejected;
    await button(page, 'Sign in').waitFor();
    const field = page.getByRole('textbox', { name: 'New name' });
    await waitForElementFocus(field);
    await page.keyboard.type('wolf');
    assert.equal(await field.inputValue(), 'wolf.txt');
    await page.keyboard.press('Escape');
    // The page still offers what the user could do: doing it asks for the sign-in.
    await row(page, 'photos/dog.txt').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Share' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+r');
    await signInDialog(page).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.problem-banner').getByText('Sign in').waitFor();
    assert.equal(await row(page, 'photos/dog.txt').getAttribute('aria-selected'), 'true');
    await page.locator('.problem-banner').getByRole('button', { name: 'Retry' }).click();
    await signInAgain(page);
    await page.locator('.problem-banner').waitFor({ state: 'detached' });
    assert.equal(await row(page, 'photos/dog.txt').getAttribute('aria-selected'), 'true');

    // The dialog shows over the preview.
    await row(page, 'photos/cat.txt').dblclick();
    await page.getByText('meow').waitFor();
    await endSession(page);
    await button(page, 'Next file').click();
    await signInAgain(page);
    await page.getByRole('dialog', { name: 'dog.txt' }).getByText('woof').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await endSession(page);
    await page.keyboard.press('Escape');
    await uploadFiles(page, SIX);
    await signInDialog(page).waitFor();
    await button(page, 'Cancel').click();
    // After the user declined, the other uploads show no dialog.
    await trayShows(page, '6 failed');
    assert.equal(await signInDialog(page).count(), 0);
    await tray(page).getByText('Sign in to continue').first().waitFor();
    await button(page, 'Sign in').waitFor();
    await tray(page).getByRole('button', { name: 'Retry all (6)' }).click();
    await signInAgain(page);
    await trayShows(page, '6 files uploaded');
    for (const number of ['0', '5']) assert.equal(String(await site.read(`photos/new ${number}.txt`)), number);
    await assertForgotten(page, ANN.password);

    const offsets: number[] = [];
    await page.route('**/-/uploads/*', async (route, request) => {
      const isPart = request.method() === 'PATCH';
      if (isPart) offsets.push(Number(request.headers()['upload-offset']));
      if (isPart && offsets.length === 2) await endSession(page);
      await route.continue();
    });
    const large = randomBytes(600_000);
    await uploadFiles(page, [testFile('large.bin', large)]);
    await signInAgain(page);
    await row(page, 'photos/large.bin').waitFor();
    assert.ok((await site.read('photos/large.bin')).equals(large));
    assert.equal(offsets.filter((offset) => offset === 0).length, 1, 'it continues where it was');
    await page.unrouteAll();

    const stored = await storedNames(site, 'photos/');
    await row(page, 'photos/cat.txt').click();
    await endSession(page);
    await renameByKeyboard(page, 'lion');
    await signInDialog(page).getByText('Signing in with another account cancels them.').waitFor();
    await fillSignInForm(page, EVE);
    await page.keyboard.press('Enter');
    await accountButton(page, EVE).waitFor();
    const messages = page.getByRole('region', { name: 'Notifications' });
    await messages.getByText(/now signed in as .*eve.*\. .*ann.*’s uploads and changes were cancelled/).waitFor();
    await row(page, 'photos/cat.txt').waitFor();
    assert.deepEqual(await storedNames(site, 'photos/'), stored);
    await page.reload();
    await row(page, 'photos/cat.txt').waitFor();
    assert.equal(await page.getByText('were cancelled').count(), 0);
  });
});
