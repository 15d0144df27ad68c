import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { assertNothingOutside, button, isFocused, isTitled, row } from './elements.ts';
import { PHONE } from './open-site.ts';
import {
  ANN,
  accessOf,
  account,
  assertForgotten,
  BOB,
  dialog,
  fill,
  REFUSED,
  signIn,
  signOut,
  title,
  visit,
} from './signing-in.ts';

export const needs: readonly Need[] = ['browser'];

describe('Signing in', () => {
  it('comes before anything is shown, by the keyboard alone, and leads to what was asked for', async (t) => {
    const { page, site } = await visit(t, 'photos/?preview=cat.txt');
    await title(page).waitFor();
    await becomes(() => page.title(), 'Sign in – Holdall');
    assert.doesNotMatch(await page.content(), /woof|dog/);
    const name = page.getByLabel('Name', { exact: true });
    const password = page.getByLabel('Password');
    await isFocused(name);
    assert.equal(await name.getAttribute('autocomplete'), 'username');
    assert.equal(await password.getAttribute('autocomplete'), 'current-password');

    await page.keyboard.type(ANN.name);
    await page.keyboard.press('Tab');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The name or the password is wrong.').waitFor();
    await isFocused(password);
    await becomes(() => password.getAttribute('aria-invalid'), 'true');
    await assertAccessible(page, t, { state: 'A wrong password' });
    await page.emulateMedia({ colorScheme: 'dark' });
    await assertAccessible(page, t, { state: 'A wrong password in the dark' });

    // What was wrong is selected.
    await page.keyboard.type(ANN.password);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'cat.txt' }).getByText('meow').waitFor();
    await becomes(() => page.url(), `${site.url}photos/?preview=cat.txt`);
    await page.keyboard.press('Escape');
    await account(page).waitFor();
    await assertAccessible(page, t, { state: 'A folder of somebody who is signed in' });
    await assertForgotten(page, ANN.password);

    await signOut(page);
    await title(page).waitFor();
    assert.doesNotMatch(await page.content(), /dog\.txt/);
    await becomes(() => page.context().cookies(), []);
    await becomes(async () => (await page.request.get(`${site.url}?prefix=photos/`)).status(), 401);
    await assertForgotten(page, ANN.password);
  });

  it('comes before a file whose link was opened, and leads to the file', async (t) => {
    const { page, site } = await visit(t, 'file/photos/cat.txt', PHONE);
    await title(page).waitFor();
    await assertNothingOutside(page);
    await page.setViewportSize({ width: 320, height: 600 });
    await assertNothingOutside(page);
    await fill(page, ANN);
    const url = `${site.url}file/photos/cat.txt`;
    const shown = page.waitForResponse((response) => response.url() === url && response.ok());
    const arrived = page.waitForEvent('framenavigated');
    await page.keyboard.press('Enter');
    await arrived;
    // The file itself is in a sandbox, which can't be asked anything: not even its text, without waiting for ever at times.
    assert.equal((await shown).headers()['content-length'], String('meow'.length));
    await page.goto(`${site.url}photos/2026/`);
    await account(page).waitFor();
    await assertNothingOutside(page);
  });

  it('is offered where somebody else may see more, and leads to the same place', async (t) => {
    const expectedErrors = [REFUSED, /status of 403/];
    const { page, site } = await visit(t, 'file/photos/cat.txt', { expectedErrors });
    const url = `${site.url}file/photos/cat.txt`;
    const signInAs = button(page, 'Sign in as somebody else');
    await title(page).waitFor();
    await fill(page, BOB);
    await page.keyboard.press('Enter');
    await page.getByText(/signed in as .*bob@example.org.*, who may not/).waitFor();
    await becomes(() => page.url(), url);
    await becomes(() => page.title(), 'cat.txt – Holdall');
    await assertAccessible(page, t, { state: 'A file that is refused' });
    await page.getByRole('link', { name: 'Go to all files' }).click();
    await page.getByText('This folder can’t be shown.').waitFor();
    await signInAs.click();
    await isFocused(page.getByLabel('Name', { exact: true }));
    assert.equal(await dialog(page).getByText('see what is here').count(), 0);
    await page.keyboard.press('Escape');

    await page.goBack();
    await signInAs.click();
    await isFocused(page.getByLabel('Name', { exact: true }));
    await fill(page, ANN);
    const shown = page.waitForResponse((response) => response.url() === url && response.ok());
    const arrived = page.waitForEvent('framenavigated');
    await page.keyboard.press('Enter');
    await arrived;
    assert.match((await shown).headers()['content-type'] ?? '', /text\/plain/);
    // The test would never end on the file, which is in a sandbox.
    await page.goto(site.url);
    await account(page).waitFor();
  });

  it('says when to try again after too many attempts, and that the service is away', async (t) => {
    const { page, site } = await visit(t, '', {
      expectedErrors: [REFUSED, /429/, /ERR_CONNECTION_(REFUSED|RESET)/],
      isOwn: true,
    });
    await title(page).waitFor();
    await until('the service refuses to look', async () => {
      const data = { name: ANN.name, password: '' };
      return (await page.request.post(`${site.url}-/session`, { data })).status() === 429;
    });
    await fill(page, ANN);
    await button(page, 'Sign in').click();
    await page
      .getByRole('alert')
      .getByText(/Too many attempts. Try again in \d+ (sec|min)/)
      .waitFor();
    await site.stop();
    await button(page, 'Sign in').click();
    await page.getByRole('alert').getByText('can’t be reached').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), ANN.name);
  });

  it('goes by a provider as well, and back to the place that is shown', async (t) => {
    const settings = {
      PUBLIC_URL: 'http://localhost:1/files',
      OIDC_ISSUER: 'http://localhost:2/',
      OIDC_CLIENT_ID: 'holdall',
    };
    const { page, site } = await visit(t, 'photos/?preview=cat.txt', { settings });
    // The provider itself is of no account here.
    await page.context().route('**/-/sign-in?*', (route) => route.fulfill({ body: 'Who are you?' }));
    await page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await page.getByText('Who are you?').waitFor();
    const { pathname, searchParams } = new URL(page.url());
    assert.equal(pathname, '/-/sign-in');
    assert.equal(searchParams.get('return'), 'photos/?preview=cat.txt');
    assert.equal(new URL(page.url()).origin, new URL(site.url).origin);
  });

  it('goes by a password where the provider is down, and to the same place', async (t) => {
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
    await assertAccessible(page, t, { state: 'A provider that is down' });
    await fill(page, ANN);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'cat.txt' }).getByText('meow').waitFor();
    await becomes(() => page.url(), site.url + place);
    await page.goto(`${site.url}-/sign-in/callback`);
    await page.getByRole('alert').first().waitFor();
    await becomes(() => page.url(), site.url);
  });

  it('is not offered where there is no way to', async (t) => {
    const { page } = await visit(t, '', { access: { people: {}, grants: [] } });
    await title(page).waitFor();
    await page.getByText('there is no way to sign in on this page').waitFor();
    assert.equal(await page.locator('input, button, a').count(), 0);
  });

  it('is known to the other tabs', async (t) => {
    const { page, site } = await visit(t, 'photos/', { expectedErrors: [REFUSED, /403/] });
    const other = await page.context().newPage();
    await other.goto(site.url);
    await title(other).waitFor();
    await signIn(page);
    await account(other).waitFor();
    await isTitled(other, 'Files');
    await signOut(other);
    await title(other).waitFor();
    await title(page).waitFor();

    // Another person begins anew, and finds nothing of the one before.
    await signIn(page, ANN);
    await account(other).waitFor();
    await page.context().clearCookies();
    await button(page, 'New folder').waitFor();
    await page.keyboard.press('Alt+r');
    await dialog(page).waitFor();
    await fill(page, BOB);
    await dialog(page).getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This folder can’t be shown.').waitFor();
    await page.getByText(/bob@example.org.*may not/).waitFor();
    await account(page, BOB).waitFor();
  });
});

describe('A folder for everybody', () => {
  it('offers to sign in, after which there is more to see and to do', async (t) => {
    const access = accessOf({ folder: '/photos/', to: 'everyone', rights: ['read'] });
    const { page } = await visit(t, 'photos/', { access, expectedErrors: [] });
    await row(page, 'photos/cat.txt').click();
    await assertAccessible(page, t, { state: 'A folder for everybody' });
    assert.equal(await button(page, 'Delete').count(), 0);
    await button(page, 'Sign in').click();
    await isFocused(page.getByLabel('Name', { exact: true }));
    assert.equal(await dialog(page).getByText('Sign in to see').count(), 0);
    await assertAccessible(page, t, { state: 'The question who one is' });
    await fill(page, ANN);
    await page.keyboard.press('Enter');
    await dialog(page).waitFor({ state: 'detached' });
    await account(page).waitFor();
    await button(page, 'Delete').waitFor();
    assert.equal(await row(page, 'photos/cat.txt').getAttribute('aria-selected'), 'true');
  });
});
