import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from 'playwright-core';
import { until } from '../process/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { isFocused, row } from './frame.ts';
import { contents, visit } from './preview-visit.ts';

export const needs: readonly Need[] = ['browser'];

const CODE = /\/viewer-[\w-]+\.js$/;

test('The code of the viewer is there before it is needed', async (t) => {
  const { page } = await visit(t, { 'a.txt': 'first' }, '');
  const fetched = page.waitForResponse(CODE);
  await page.reload();
  assert.equal((await fetched).status(), 200);
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('A preview can be left while the code of the viewer is on its way', async (t) => {
  const { page, site } = await visit(t, { 'a.txt': 'first' }, '');
  const held: (() => void)[] = [];
  await page.route(CODE, (route) => new Promise<void>((resolve) => held.push(resolve)).then(() => route.continue()));
  await page.reload();
  const dialog = page.getByRole('dialog', { name: 'a.txt' });
  await row(page, 'a.txt').click();
  await page.keyboard.press('Enter');
  await dialog.getByText('Loading').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await isFocused(row(page, 'a.txt'));
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
  await isFocused(row(page, 'a.txt'));
  await becomes(() => page.url(), site.url);
});

test('The code of the viewer is asked for again when it did not come', async (t) => {
  const { page } = await visit(t, { 'a.txt': 'first' }, '', { expectedErrors: [/viewer-|ERR_FAILED/] });
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
});

for (const [part, file] of [
  ['viewer', 'a.txt'],
  ['text-preview', 'a.txt'],
  ['worker', 'b.md'],
  ['worker', 'c.csv'],
] as const) {
  test(`An open page offers to reload when a new version of it has no ${part} for ${file}`, async (t) => {
    const files = { 'a.txt': 'first', 'b.md': '# first', 'c.csv': 'first,second' };
    const { page } = await visit(t, files, '', { expectedErrors: [/\.js/] });
    // After an upgrade, the code of the earlier version is gone: also the script that the page was started with.
    const isGone = (request: Request) => request.method() === 'HEAD' || request.url().includes(`/${part}-`);
    await page.route('**/*.js', (route, request) =>
      isGone(request) ? route.fulfill({ status: 404 }) : route.continue(),
    );
    await page.goto(`${page.url()}?preview=${file}`);
    const alert = page.getByRole('alert').filter({ hasText: 'The service was updated.' });
    await alert.waitFor();
    assert.equal(await alert.getByRole('button', { name: 'Retry' }).count(), 0);
    await page.unroute('**/*.js');
    await alert.getByRole('button', { name: 'Reload' }).click();
    await contents(page).getByText('first').waitFor();
  });
}
