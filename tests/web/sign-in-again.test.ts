import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { button, isFocused, row } from './elements.ts';
import {
  ANN,
  accessOf,
  account,
  assertForgotten,
  BOB,
  dialog,
  fill,
  listed,
  REFUSED,
  signIn,
  signOut,
  title,
  visit,
} from './signing-in.ts';
import { picked, tray, trayTells, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const SIX = Array.from({ length: 6 }, (_, index) => picked(`new ${index}.txt`, String(index)));

/** The session is over, as when it was ended on another machine. */
const endSession = (page: Page) => page.context().clearCookies();

async function signInAgain(page: Page): Promise<void> {
  await dialog(page).waitFor();
  await isFocused(page.getByLabel('Password'));
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), ANN.name);
  await fill(page, { password: ANN.password });
  await page.keyboard.press('Enter');
  await dialog(page).waitFor({ state: 'detached' });
  await account(page).waitFor();
}

describe('A session that ends in the middle of work', () => {
  it('is begun again once, and all that was refused goes on', async (t) => {
    const { page, site } = await visit(t, 'photos/', { expectedErrors: [REFUSED, /ERR_FAILED/] });
    await signIn(page);
    await row(page, 'photos/dog.txt').click();
    await endSession(page);
    await page.keyboard.press('Alt+r');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.problem-banner').getByText('Sign in').waitFor();
    assert.equal(await row(page, 'photos/dog.txt').getAttribute('aria-selected'), 'true');
    await page.locator('.problem-banner').getByRole('button', { name: 'Retry' }).click();
    await signInAgain(page);
    await page.locator('.problem-banner').waitFor({ state: 'detached' });
    assert.equal(await row(page, 'photos/dog.txt').getAttribute('aria-selected'), 'true');

    await endSession(page);
    await page.keyboard.press('Escape');
    // Refused in its midst, a long upload breaks off without an answer.
    let isBroken = true;
    await page.route('**/upload', (route) => (isBroken ? route.abort() : route.continue()));
    await uploadFiles(page, SIX);
    await dialog(page).waitFor();
    isBroken = false;
    await signInAgain(page);
    await trayTells(page, '6 files uploaded');
    assert.equal(String(await site.read('photos/new 5.txt')), '5');

    await row(page, 'photos/cat.txt').click();
    await endSession(page);
    await page.keyboard.press('F2');
    await page.keyboard.type('lion');
    await page.keyboard.press('Enter');
    await signInAgain(page);
    await page.getByRole('region', { name: 'Messages' }).getByText('renamed').waitFor();
    assert.equal(String(await site.read('photos/lion.txt')), 'meow');

    await row(page, 'photos/lion.txt').dblclick();
    await page.getByText('meow').waitFor();
    await endSession(page);
    await button(page, 'Next file').click();
    await signInAgain(page);
    await page.getByRole('dialog', { name: 'new 0.txt' }).waitFor();
    await assertForgotten(page, ANN.password);
  });

  it('leaves uploads to be tried again, where one would rather not sign in now', async (t) => {
    const { page, site } = await visit(t, 'photos/');
    await signIn(page);
    await endSession(page);
    await uploadFiles(page, SIX);
    await dialog(page).waitFor();
    await button(page, 'Cancel').click();
    // One who declined is not asked for each of them.
    await trayTells(page, '6 failed');
    assert.equal(await dialog(page).count(), 0);
    await tray(page).getByText('Sign in to upload').first().waitFor();
    await button(page, 'Sign in').waitFor();
    await tray(page).getByRole('button', { name: 'Retry 6' }).click();
    await signInAgain(page);
    await trayTells(page, '6 files uploaded');
    assert.equal(String(await site.read('photos/new 0.txt')), '0');
  });

  it('says so, where another person signs in and what was begun is not done', async (t) => {
    const access = accessOf({ folder: '/photos/', to: 'signed-in', rights: ['read'] });
    const { page, site } = await visit(t, 'photos/', { access });
    await signIn(page);
    await row(page, 'photos/cat.txt').click();
    await endSession(page);
    await page.keyboard.press('F2');
    await page.keyboard.type('lion');
    await page.keyboard.press('Enter');
    await dialog(page).getByText('For somebody else, the page begins anew.').waitFor();
    await fill(page, BOB);
    await page.keyboard.press('Enter');
    await account(page, BOB).waitFor();
    const messages = page.getByRole('region', { name: 'Messages' });
    await messages.getByText(/signed in as .*bob@example.org.* now. What .*ann.* had begun was not finished/).waitFor();
    await row(page, 'photos/cat.txt').waitFor();
    assert.deepEqual(await listed(site, 'photos/'), ['2026', 'cat.txt', 'dog.txt']);
    await page.reload();
    await row(page, 'photos/cat.txt').waitFor();
    assert.equal(await page.getByText('had begun').count(), 0);
  });
});

describe('Signing out', () => {
  it('asks first while something is uploaded', async (t) => {
    const { page, site } = await visit(t, 'photos/');
    await signIn(page);
    const held = Promise.withResolvers<void>();
    await page.route('**/upload', () => held.resolve());
    await uploadFiles(page, picked('slow.txt', 'slow'));
    await held.promise;
    await signOut(page);
    const question = page.getByRole('dialog', { name: 'Sign out now?' });
    await question.waitFor();
    await isFocused(question.getByRole('button', { name: 'Cancel' }));
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    await trayTells(page, 'Uploading 1 file');

    await signOut(page);
    await question.getByRole('button', { name: 'Sign out' }).click();
    await title(page).waitFor();
    assert.deepEqual(await listed(site, 'photos/'), ['2026', 'cat.txt', 'dog.txt']);
    await page.goBack().catch(() => {});
    await until('nothing of it is shown', async () => (await page.getByText('cat.txt').count()) === 0);
  });
});
