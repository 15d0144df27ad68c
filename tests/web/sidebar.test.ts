import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, focusedName, renameByKeyboard, row, waitForTitle } from './elements.ts';
import { FILES, openSite } from './open-site.ts';
import type { Site } from './site.ts';

export const needs: readonly Need[] = ['browser'];

const treeItem = (page: Page, name: string) => page.getByRole('treeitem', { name, exact: true });
const favouritesOf = (page: Page) => page.getByRole('region', { name: 'Favourites' });
const shownFolders = (page: Page) => page.getByRole('treeitem').allTextContents();

test('The sidebar has a tree that follows keys, the shown folder and other clients, favourites and recent files', async (t) => {
  const { page, site } = await openSite(t, { files: { ...FILES, 'Docs/Letters/': '' } });
  await followsKeysAndFolder(page, site);
  await acceptsDrops(page, site);
  await treeItem(page, 'Files').click();
  await row(page, 'one.txt').waitFor();
  await addsFavourites(page);
  await hides(page);
  await opensFavourites(page);
  await hasRecentFiles(page);
});

async function followsKeysAndFolder(page: Page, site: Site): Promise<void> {
  await treeItem(page, 'Photos').waitFor();
  await becomes(() => shownFolders(page), ['Files', 'Docs', 'Photos']);
  assert.equal(await treeItem(page, 'Files').getAttribute('aria-current'), 'page');

  await treeItem(page, 'Files').focus();
  for (const [key, name] of [
    ['ArrowDown', 'Docs'],
    ['ArrowRight', 'Docs'],
    ['ArrowRight', 'Letters'],
    ['ArrowLeft', 'Docs'],
    ['ArrowLeft', 'Docs'],
    ['End', 'Photos'],
    ['d', 'Docs'],
    ['ArrowLeft', 'Files'],
  ] as const) {
    if (key === 'ArrowRight') await treeItem(page, 'Docs').and(page.locator(':focus')).waitFor();
    await page.keyboard.press(key);
    if (key === 'ArrowRight') await treeItem(page, 'Letters').waitFor();
    await becomes(async () => [key, await focusedName(page)], [key, name]);
  }
  await becomes(() => shownFolders(page), ['Files', 'Docs', 'Photos']);
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  await waitForTitle(page, 'Photos');
  await becomes(() => treeItem(page, 'Photos').getAttribute('aria-current'), 'page');

  // A folder that another part of the page opens is revealed.
  await row(page, 'Photos/2026/').dblclick();
  await row(page, 'Photos/2026/Summer holidays/').dblclick();
  await becomes(() => shownFolders(page), ['Files', 'Docs', 'Photos', '2026', 'Summer holidays']);
  await fetch(new URL('create_folder', site.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ path: 'Photos/2026/Summer holidays/Norway/' }),
  });
  await treeItem(page, 'Summer holidays').focus();
  await page.keyboard.press('ArrowRight');
  await treeItem(page, 'Norway').waitFor();
}

async function acceptsDrops(page: Page, site: Site): Promise<void> {
  await page.goBack();
  await row(page, 'Photos/2026/Summer holidays/').locator('.entry-name').dragTo(treeItem(page, 'Docs'));
  await row(page, 'Photos/2026/Summer holidays/').waitFor({ state: 'detached' });
  await becomes(
    async () => (await site.paths()).filter((path) => path.endsWith('bird.txt')),
    ['Docs/Summer holidays/Iceland/Westfjords/bird.txt'],
  );
}

/** Favourites follow a rename. */
async function addsFavourites(page: Page): Promise<void> {
  await row(page, 'Docs/').click();
  await page.keyboard.press('Alt+Shift+KeyF');
  await favouritesOf(page).getByRole('link', { name: 'Docs' }).waitFor();
  await renameByKeyboard(page, 'Papers');
  await favouritesOf(page).getByRole('link', { name: 'Papers' }).waitFor();
  await row(page, 'one.txt').click();
  await page.keyboard.press('Alt+Shift+KeyF');
}

/** The sidebar is hidden on request, also after a reload. */
async function hides(page: Page): Promise<void> {
  const { x } = await boxOf(page.getByRole('heading', { level: 1 }));
  await button(page, 'Sidebar').click();
  await page.getByRole('tree').waitFor({ state: 'detached' });
  assert.ok((await boxOf(page.getByRole('heading', { level: 1 }))).x < x - 200);
  await page.reload();
  await row(page, 'one.txt').waitFor();
  assert.equal(await page.locator('.sidebar').count(), 0);
  await button(page, 'Sidebar').click();
  await treeItem(page, 'Files').waitFor();
  assert.equal((await boxOf(page.getByRole('heading', { level: 1 }))).x, x);
}

async function opensFavourites(page: Page): Promise<void> {
  const favourites = favouritesOf(page);
  await becomes(() => favourites.getByRole('link').allTextContents(), ['Papers', 'one.txt']);
  await favourites.getByRole('link', { name: 'one.txt' }).click();
  await page.getByRole('dialog', { name: 'one.txt' }).waitFor();
  // The code that remembers opened files loads after the page.
  await until('the file is remembered', () =>
    page.evaluate<boolean>(
      `Object.entries(localStorage).some(([key, value]) => /visited/.test(key) && /one/.test(value))`,
    ),
  );
  await page.keyboard.press('Escape');
  await favourites.getByRole('link', { name: 'Papers' }).click();
  await waitForTitle(page, 'Papers');
  await row(page, 'Papers/Letters/').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Alt+Shift+KeyF');
  await becomes(() => favourites.getByRole('link').allTextContents(), ['one.txt']);
  await button(favourites, 'Remove “\u2068one.txt\u2069” from favourites').click();
  await favourites.waitFor({ state: 'detached' });
}

async function hasRecentFiles(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Recent' }).click();
  await waitForTitle(page, 'Recent');
  const recent = page.getByRole('grid', { name: 'Recent files' });
  const opened = recent.getByRole('row', { name: 'one.txt' });
  await opened.getByText('Opened', { exact: true }).waitFor();
  await opened.dblclick();
  await page.getByRole('dialog', { name: 'one.txt' }).waitFor();
  await page.keyboard.press('Escape');
  await waitForTitle(page, 'Files');
}
