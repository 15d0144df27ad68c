import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { boxOf, button, enterFolder, messages, row, waitForMessage } from './elements.ts';
import { openSite, PARTS_AND_TRASH } from './open-site.ts';
import { photo } from './samples.ts';
import type { Site } from './site.ts';
import { assertIsolatedStyles } from './styles.ts';

export const needs: readonly Need[] = ['browser'];

/** Sends a request as another client. */
async function send(site: Site, path: string, method: string, body?: object): Promise<unknown> {
  const response = await fetch(new URL(path, site.url), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  assert.equal(response.ok, true, `${method} ${path}: ${response.status}`);
  return response.json();
}

test('The details describe the selected entries and what happened to them, undo that, and are a sheet in a narrow window', async (t) => {
  const files = {
    'Activity/a.txt': 'a',
    'Activity/Docs/b.txt': 'b',
    'Activity/Inbox/': '',
    'Facts/sub/a.txt': 'a',
    'Facts/sub/b.txt': 'bb',
    'Facts/photo.jpg': await photo(1),
    'Facts/text.txt': 'x'.repeat(1234),
  };
  const { site, page } = await openSite(t, {
    files,
    folder: 'Activity/',
    settings: PARTS_AND_TRASH,
    visit: { permissions: ['clipboard-read', 'clipboard-write'] },
  });
  await page.getByRole('button', { name: 'Details' }).click();
  const sheet = page.getByRole('complementary', { name: 'Details' });
  await showsActivity(site, page, sheet);
  await assertAccessible(page, t, { state: 'activity' });
  await undoesChange(page, sheet);
  await showsActivityOfFile(site, page, sheet);
  await namesVisitors(site, page, sheet);

  await enterFolder(page, 'Facts');
  await describesFile(site, page, sheet);
  await assertIsolatedStyles(page);
  await describesSeveral(page, sheet);
  await describesPreview(page);
  await isSheet(page);
});

const itemsOf = (sheet: Locator) => sheet.getByRole('list').getByRole('listitem').locator('div > :first-child');
const showsFirst = (sheet: Locator, ...expected: readonly string[]) =>
  becomes(async () => (await itemsOf(sheet).allInnerTexts()).slice(0, expected.length).join(), expected.join());

const OF_FILE = ['“⁨d.txt⁩” moved to “⁨Docs⁩”', '“⁨c.txt⁩” renamed to “⁨d.txt⁩”', '“⁨a.txt⁩” copied as “⁨c.txt⁩”'];

async function showsActivity(site: Site, page: Page, sheet: Locator): Promise<void> {
  await sheet.getByText('No recent activity').waitFor();
  await send(site, 'copy', 'POST', { source: 'Activity/a.txt', destination: 'Activity/c.txt', is_folder: false });
  await send(site, 'rename/Activity/c.txt', 'POST', { newName: 'd.txt' });
  const destination = 'Activity/Docs/d.txt';
  await send(site, 'move', 'POST', { source: 'Activity/d.txt', destination, is_folder: false });
  await showsFirst(sheet, ...OF_FILE);
  await send(site, 'delete/Activity/Docs/b.txt', 'DELETE');
  await showsFirst(sheet, '“⁨b.txt⁩” deleted', ...OF_FILE);
  await row(page, 'Activity/Docs/').waitFor();
}

async function undoesChange(page: Page, sheet: Locator): Promise<void> {
  await button(sheet, 'Undo: “⁨b.txt⁩” deleted').click();
  await waitForMessage(page, 'Undone: “⁨b.txt⁩” deleted');
  await showsFirst(sheet, '“⁨b.txt⁩” restored', '“⁨b.txt⁩” deleted', ...OF_FILE);
  await button(sheet, 'Undo: “⁨b.txt⁩” deleted').click();
  await messages(page).getByText('This change is already undone.').waitFor();
}

async function showsActivityOfFile(site: Site, page: Page, sheet: Locator): Promise<void> {
  for (let index = 0; index < 8; index++) {
    await send(site, 'create_folder', 'POST', { path: `Activity/New ${index}` });
  }
  await showsFirst(sheet, '“⁨New 7⁩” created');
  assert.equal(await itemsOf(sheet).count(), 10);
  await button(sheet, 'Show more').click();
  await becomes(() => itemsOf(sheet).count(), 13);

  await row(page, 'Activity/Docs/').dblclick();
  await row(page, 'Activity/Docs/d.txt').click();
  await becomes(async () => (await itemsOf(sheet).allInnerTexts()).join(), OF_FILE.join());
  await page.keyboard.press('Alt+ArrowUp');
}

/** The details name visitors of share links as such. */
async function namesVisitors(site: Site, page: Page, sheet: Locator): Promise<void> {
  await row(page, 'Activity/Inbox/').click();
  const link = await send(site, '-/links', 'POST', { path: 'Activity/Inbox/', permissions: ['read', 'write'] });
  assert.ok(typeof link === 'object' && link !== null && 'url' in link);
  const form = new FormData();
  form.append('file', new File(['b'], 'b.txt'));
  assert.equal((await fetch(new URL('upload', String(link.url)), { method: 'POST', body: form })).status, 200);
  const item = sheet.getByRole('listitem').first();
  await item.getByText('“⁨b.txt⁩” created').waitFor();
  await item.getByText('Visitor of a shared link').waitFor();
}

async function describesFile(site: Site, page: Page, sheet: Locator): Promise<void> {
  await sheet.getByText('3 items').waitFor();
  await row(page, 'Facts/text.txt').click();
  await sheet.getByText('Plain text').waitFor();
  await sheet.getByText('1,234 bytes').waitFor();
  await sheet.getByText('text/plain').waitFor();
  await sheet.getByRole('button', { name: 'Copy link' }).click();
  await sheet.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${site.url}file/Facts/text.txt`);
}

async function describesSeveral(page: Page, sheet: Locator): Promise<void> {
  await row(page, 'Facts/sub/').click();
  await sheet.getByRole('button', { name: 'Count items' }).click();
  await sheet.getByText('2 items').waitFor();
  await row(page, 'Facts/text.txt').click({ modifiers: ['ControlOrMeta'] });
  await sheet.getByText('2 selected').waitFor();
  await sheet.getByText('Size of files').waitFor();
  await sheet.getByText('folders not included').waitFor();
  await sheet.getByRole('button', { name: 'Close details' }).click();
  await sheet.waitFor({ state: 'detached' });
}

async function describesPreview(page: Page): Promise<void> {
  await row(page, 'Facts/photo.jpg').dblclick();
  await button(page.getByRole('dialog'), 'Details').click();
  await page.getByRole('dialog').getByRole('complementary').getByText('\u2068JPEG\u2069 image').waitFor();
  await page.getByRole('dialog').locator('.versions .secondary').first().waitFor();
  await assertIsolatedStyles(page);
  await button(page.getByRole('dialog'), 'Details').click();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** Selecting text beyond the edge of the sheet does not close it. A click outside of the sheet does. */
async function isSheet(page: Page): Promise<void> {
  await page.setViewportSize({ width: 600, height: 800 });
  await row(page, 'Facts/text.txt').click();
  await page.keyboard.press('Alt+Enter');
  const below = page.getByRole('dialog', { name: 'Details' });
  // The position after the opening animation.
  await below.getByText('Plain text').hover();
  const type = await boxOf(below.getByText('Plain text'));
  await page.mouse.move(type.x + 20, type.y + 5);
  await page.mouse.down();
  await page.mouse.move(300, 20);
  await page.mouse.up();
  await page.mouse.move(type.x + 20, type.y + 5);
  assert.equal(await below.count(), 1);
  await page.mouse.click(300, 20);
  await below.waitFor({ state: 'detached' });
}
