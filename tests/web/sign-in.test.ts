import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { assertNothingOutside, button, isFocused, isTitled } from './elements.ts';
import { PHONE } from './open-site.ts';
import {
  ANN,
  account,
  assertForgotten,
  BOB,
  dialog,
  fill,
  listed,
  REFUSED,
  signOut,
  title,
  visit,
} from './signing-in.ts';
import { picked, trayTells, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

describe('Signing in', () => {
  it('is required before anything is shown, works by keyboard in all tabs, and ends in all tabs', async (t) => {
    const { page, site } = await visit(t, 'photos/?preview=cat.txt');
    await title(page).waitFor();
    await becomes(() => page.title(), 'Sign in – Holdall');
    assert.doesNotMatch(await page.content(), /woof|dog/);
    const other = await page.context().newPage();
    await other.goto(site.url);
    await title(other).waitFor();
    await page.bringToFront();
    const name = page.getByLabel('Username', { exact: true });
    const password = page.getByLabel('Password');
    await isFocused(name);
    assert.equal(await name.getAttribute('autocomplete'), 'username');
    assert.equal(await password.getAttribute('autocomplete'), 'current-password');

    await page.keyboard.type(ANN.name);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Wrong username or password.').waitFor();
    await isFocused(password);
    await becomes(() => password.getAttribute('aria-invalid'), 'true');
    assert.equal(await name.inputValue(), ANN.name);
    await assertAccessibleInBothSchemes(page, t, { state: 'A wrong password' });

    // The wrong password is selected.
    await page.keyboard.type(ANN.password);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'cat.txt' }).getByText('meow').waitFor();
    await becomes(() => page.url(), `${site.url}photos/?preview=cat.txt`);
    await page.keyboard.press('Escape');
    await account(page).waitFor();
    await account(other).waitFor();
    await isTitled(other, 'Files');
    await assertForgotten(page, ANN.password);

    const held = Promise.withResolvers<void>();
    await page.route('**/upload', () => held.resolve());
    await uploadFiles(page, picked('slow.txt', 'slow'));
    await held.promise;
    await signOut(page);
    const question = page.getByRole('dialog', { name: 'Sign out?' });
    await question.waitFor();
    await isFocused(question.getByRole('button', { name: 'Cancel' }));
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    await trayTells(page, 'Uploading 1 file');

    await signOut(page);
    await question.getByRole('button', { name: 'Sign out' }).click();
    await title(page).waitFor();
    await title(other).waitFor();
    assert.deepEqual(await listed(site, 'photos/'), ['2026', 'cat.txt', 'dog.txt']);
    assert.doesNotMatch(await page.content(), /dog\.txt/);
    await becomes(() => page.context().cookies(), []);
    await becomes(async () => (await page.request.get(`${site.url}?prefix=photos/`)).status(), 401);
    await assertForgotten(page, ANN.password);
    await page.goBack().catch(() => {});
    await until('no file name is shown', async () => (await page.getByText('cat.txt').count()) === 0);
  });

  it('is required for the link of a file on a phone, and opens the file for a user who may read it', async (t) => {
    const expectedErrors = [REFUSED, /status of 403/];
    const { page, site } = await visit(t, 'file/photos/cat.txt', { ...PHONE, expectedErrors });
    const url = `${site.url}file/photos/cat.txt`;
    const signInAs = button(page, 'Use another account');
    await title(page).waitFor();
    await assertNothingOutside(page);
    await page.setViewportSize({ width: 320, height: 600 });
    await assertNothingOutside(page);

    await fill(page, BOB);
    await page.keyboard.press('Enter');
    await page.getByText('Signed in as \u2068bob@example.org\u2069').waitFor();
    await becomes(() => page.url(), url);
    await becomes(() => page.title(), 'cat.txt – Holdall');
    await page.getByRole('link', { name: 'Go to Files' }).click();
    await page.getByText('You don’t have access to this folder.').waitFor();
    await signInAs.click();
    await isFocused(page.getByLabel('Username', { exact: true }));
    assert.equal(await dialog(page).getByText('see these files').count(), 0);
    await page.keyboard.press('Escape');

    await page.goBack();
    await signInAs.click();
    await isFocused(page.getByLabel('Username', { exact: true }));
    await fill(page, ANN);
    const shown = page.waitForResponse((response) => response.url() === url && response.ok());
    const arrived = page.waitForEvent('framenavigated');
    await page.keyboard.press('Enter');
    await arrived;
    // The file is in a sandbox, where reading its text may never finish.
    const headers = (await shown).headers();
    assert.equal(headers['content-length'], String('meow'.length));
    assert.match(headers['content-type'] ?? '', /text\/plain/);
    await page.goto(`${site.url}photos/2026/`);
    await account(page).waitFor();
    await assertNothingOutside(page);
  });

  // Unit tests and tests/http/sign-in test the texts and the redirects.
  if (isFullForm) {
    it('works with a password when the identity provider is down, and keeps the place', async (t) => {
      const settings = {
        PUBLIC_URL: 'http://localhost:1',
        OIDC_ISSUER: 'http://localhost:2/',
        OIDC_CLIENT_ID: 'holdall',
      };
      const expectedErrors = [/status of 50/, /status of 400/];
      const place = 'photos/?preview=cat.txt';
      const from = `-/sign-in?${new URLSearchParams({ return: place })}`;
      const { page, site } = await visit(t, from, { settings, expectedErrors });
      await title(page).waitFor();
      await page.getByRole('alert').getByText('provider').waitFor();
      await becomes(() => page.url(), site.url + place);

      await page.context().route('**/-/sign-in?*', (route) => route.fulfill({ body: 'The provider' }));
      const opened = page.context().waitForEvent('page');
      await page.getByRole('link', { name: 'Sign in with your organisation' }).click({ modifiers: ['ControlOrMeta'] });
      const provider = await opened;
      await provider.getByText('The provider').waitFor();
      assert.equal(provider.url(), site.url + from);
      await provider.close();

      await fill(page, ANN);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'cat.txt' }).getByText('meow').waitFor();
      await becomes(() => page.url(), site.url + place);
      await page.goto(`${site.url}-/sign-in/callback`);
      await page.getByRole('alert').first().waitFor();
      await becomes(() => page.url(), site.url);
    });
  }
});
