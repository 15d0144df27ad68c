import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, waitForElementFocus, waitForNoOverflow, waitForTitle } from './elements.ts';
import { PHONE } from './open-site.ts';
import {
  ANN,
  accountButton,
  assertForgotten,
  BOB,
  fillSignInForm,
  signInDialog,
  signInHeading,
  signOut,
  storedNames,
  UNAUTHORIZED,
  visit,
} from './signing-in.ts';
import { testFile, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/** Fails if the page of a user has loaded the code of pages for visitors. */
async function assertNoVisitorCode(page: Page): Promise<void> {
  const assets = () =>
    page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name.replace(/.*\//, '')));
  await until('the code that loads after the page is there', async () =>
    (await assets()).some((name) => name.startsWith('image-preview')),
  );
  assert.deepEqual(
    (await assets()).filter((name) => /^(visit|file-page|request-page|sender|password)/.test(name)),
    [],
  );
}

describe('Signing in', () => {
  it('is required to see any file, works by keyboard, and applies to all tabs, like signing out', async (t) => {
    const { page, site } = await visit(t, 'photos/?preview=cat.txt');
    await signInHeading(page).waitFor();
    await becomes(() => page.title(), 'Sign in – Holdall');
    assert.doesNotMatch(await page.content(), /woof|dog/);
    const other = await page.context().newPage();
    await other.goto(site.url);
    await signInHeading(other).waitFor();
    await page.bringToFront();
    const name = page.getByLabel('Username', { exact: true });
    const password = page.getByLabel('Password');
    await waitForElementFocus(name);
    assert.equal(await name.getAttribute('autocomplete'), 'username');
    assert.equal(await password.getAttribute('autocomplete'), 'current-password');

    await page.keyboard.type(ANN.name);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Wrong username or password.').waitFor();
    await waitForElementFocus(password);
    await becomes(() => password.getAttribute('aria-invalid'), 'true');
    assert.equal(await name.inputValue(), ANN.name);
    await assertAccessible(page, t, { state: 'A wrong password' });

    // Typing replaces the wrong password, because it is selected.
    await page.keyboard.type(ANN.password);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'cat.txt' }).getByText('meow').waitFor();
    await becomes(() => page.url(), `${site.url}photos/?preview=cat.txt`);
    await page.keyboard.press('Escape');
    await accountButton(page).waitFor();
    await accountButton(other).waitFor();
    await waitForTitle(other, 'Files');
    await assertForgotten(page, ANN.password);
    await assertNoVisitorCode(page);

    const held = Promise.withResolvers<void>();
    await page.route('**/upload', () => held.resolve());
    await uploadFiles(page, testFile('slow.txt', 'slow'));
    await held.promise;
    await signOut(page);
    const question = page.getByRole('dialog', { name: 'Sign out?' });
    await question.waitFor();
    await waitForElementFocus(question.getByRole('button', { name: 'Cancel' }));
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    await trayShows(page, 'Uploading 1 file');

    await signOut(page);
    await question.getByRole('button', { name: 'Sign out' }).click();
    await signInHeading(page).waitFor();
    await signInHeading(other).waitFor();
    assert.deepEqual(await storedNames(site, 'photos/'), ['2026', 'cat.txt', 'dog.txt']);
    assert.doesNotMatch(await page.content(), /dog\.txt/);
    await becomes(() => page.context().cookies(), []);
    await becomes(async () => (await page.request.get(`${site.url}?prefix=photos/`)).status(), 401);
    await assertForgotten(page, ANN.password);
    await page.goBack().catch(() => {});
    await until('no file name is shown', async () => (await page.getByText('cat.txt').count()) === 0);
  });

  it('works with a password when the identity provider is down, and opens a linked file if the user can read it', async (t) => {
    const settings = {
      PUBLIC_URL: 'http://localhost:1',
      OIDC_ISSUER: 'http://localhost:2/',
      OIDC_CLIENT_ID: 'holdall',
    };
    const path = 'photos/?preview=cat.txt';
    const from = `-/sign-in?${new URLSearchParams({ return: path })}`;
    const expectedErrors = [UNAUTHORIZED, /status of 50/, /status of 403/];
    const { page, site } = await visit(t, from, { ...PHONE, settings, expectedErrors });
    await signInHeading(page).waitFor();
    await page.getByRole('alert').getByText('Sign-in isn’t available right now.').waitFor();
    await becomes(() => page.url(), site.url + path);
    await waitForNoOverflow(page);
    await page.setViewportSize({ width: 320, height: 600 });
    await waitForNoOverflow(page);
    await page.context().route('**/-/sign-in?*', (route) => route.fulfill({ body: 'The provider' }));
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click({ modifiers: ['ControlOrMeta'] });
    const provider = await opened;
    await provider.getByText('The provider').waitFor();
    assert.equal(provider.url(), site.url + from);
    await provider.close();

    // A link to a file, with and without the permission to read it.
    const url = `${site.url}file/photos/cat.txt`;
    const signInAs = button(page, 'Use another account');
    await page.goto(url);
    await signInHeading(page).waitFor();
    await fillSignInForm(page, BOB);
    await page.keyboard.press('Enter');
    await page.getByText('Signed in as \u2068bob@example.org\u2069').waitFor();
    await becomes(() => page.url(), url);
    await becomes(() => page.title(), 'cat.txt – Holdall');
    await page.getByRole('link', { name: 'Go to Files' }).click();
    await page.getByText('You don’t have access to this folder.').waitFor();
    await signInAs.click();
    await waitForElementFocus(page.getByLabel('Username', { exact: true }));
    assert.equal(await signInDialog(page).getByText('see these files').count(), 0);
    await page.keyboard.press('Escape');
    await page.goBack();
    await signInAs.click();
    await waitForElementFocus(page.getByLabel('Username', { exact: true }));
    await fillSignInForm(page, ANN);
    const shown = page.waitForResponse((response) => response.url() === url && response.ok());
    const arrived = page.waitForEvent('framenavigated');
    await page.keyboard.press('Enter');
    await arrived;
    // The file is in a sandboxed document, from which Playwright can't reliably read the text.
    const headers = (await shown).headers();
    assert.equal(headers['content-length'], String('meow'.length));
    assert.match(headers['content-type'] ?? '', /text\/plain/);
    await page.goto('about:blank');
  });
});
