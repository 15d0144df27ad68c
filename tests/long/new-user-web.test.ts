// Complete tasks of a new user by touch alone and by keyboard alone. Each of their steps is also a part of a journey in
// tests/web. Together, they take as long as a quarter of those journeys.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { openPage, type Visit } from '../web/browser.ts';
import { longPress, renameByKeyboard, row, typeAhead, typeName, waitForFocus } from '../web/elements.ts';
import {
  createAlbum,
  FILES,
  undoButton,
  untilDeleted,
  untilPreviewed,
  untilStored,
  untilThumbnails,
} from '../web/new-user.ts';
import { DESKTOP, PHONE } from '../web/open-site.ts';
import { type Site, startSite } from '../web/site.ts';
import { openFileChooser, tray, trayShows, uploadRow } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

async function start(t: TestContext, visit: Partial<Visit>): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: site.url, reducedMotion: false });
  await row(page, 'letter.txt').waitFor();
  return { site, page };
}

/** Presses a key until the focus is on the button with this label, or on `an entry`. */
async function pressUntilFocused(page: Page, key: string, target: string): Promise<void> {
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press(key);
    const reached = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.hasAttribute('data-path') ? 'an entry' : element?.textContent?.trim();
    });
    if (reached === target) return;
  }
  assert.fail(`${key} does not focus ${target}.`);
}

test('A new user sorts photos into a folder by touch on a phone', async (t) => {
  const { site, page } = await start(t, { ...PHONE, theme: 'dark' });
  const album = await createAlbum(t);
  const bar = page.getByRole('toolbar');
  await bar.getByRole('button', { name: 'New folder' }).tap();
  await page.getByRole('dialog').getByRole('textbox').fill('Holidays');
  await page.getByRole('button', { name: 'Create' }).tap();
  await untilStored(site, 'Holidays/');
  await bar
    .getByRole('button', { name: 'Clear selection' })
    .or(page.getByRole('button', { name: 'Clear selection' }))
    .first()
    .tap();
  await row(page, 'Holidays/').tap();
  await page.getByText('This folder is empty.').waitFor();
  await bar.getByRole('button', { name: 'Upload', exact: true }).tap();
  const chooser = await openFileChooser(page, () => page.getByRole('menuitem', { name: 'Upload files' }).tap());
  await chooser.setFiles(album);
  await trayShows(page, '12 files uploaded');
  assert.equal(await uploadRow(page, 'balcony.jpg').count(), 0, 'The tray is collapsed.');
  await tray(page).getByRole('button', { expanded: false }).tap();
  await uploadRow(page, 'balcony.jpg').waitFor();
  await tray(page).getByRole('button', { name: 'Close' }).tap();
  await untilThumbnails(page, 6);

  await row(page, 'Holidays/alps at dawn.jpg').tap();
  await untilPreviewed(page, 'alps at dawn.jpg');
  await page.getByRole('button', { name: 'Next file' }).tap();
  await untilPreviewed(page, 'balcony.jpg');
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  const more = async (path: string, item: string) => {
    await row(page, path).getByRole('button', { name: 'More' }).tap();
    await page.getByRole('menuitem', { name: item }).tap();
  };
  await row(page, 'Holidays/coast.jpg').scrollIntoViewIfNeeded();
  await more('Holidays/coast.jpg', 'Rename');
  await typeName(page, 'sea');
  await untilStored(site, 'Holidays/sea.jpg');
  await untilDeleted(site, 'Holidays/coast.jpg');
  await row(page, 'Holidays/lake.png').scrollIntoViewIfNeeded();
  await more('Holidays/lake.png', 'Move to…');
  const picker = page.getByRole('dialog');
  await picker
    .getByRole('link', { name: 'Files' })
    .or(picker.getByRole('button', { name: 'Files' }))
    .first()
    .tap();
  await picker.getByText('Music').waitFor();
  await picker.getByRole('button', { name: 'Move here' }).tap();
  await untilStored(site, 'lake.png');
  await undoButton(page, 'lake.png').tap();
  await untilStored(site, 'Holidays/lake.png');
  await untilDeleted(site, 'lake.png');

  const [first, ...others] = ['dunes.png', 'evening.jpg', 'fjord panorama.jpg'];
  await longPress(page, `Holidays/${first}`);
  for (const name of [...others, 'balcony.jpg', 'balcony.jpg']) await row(page, `Holidays/${name}`).tap();
  await page.getByText('3 selected').first().waitFor();
  await bar.getByRole('button', { name: 'Delete', exact: true }).tap();
  await page.getByRole('button', { name: 'Delete 3 items' }).tap();
  for (const name of [first, ...others]) await untilDeleted(site, `Holidays/${name}`);
  assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/')).length, 9);
});

test('A new user sorts photos into a folder by keyboard', async (t) => {
  const { site, page } = await start(t, {});
  const album = await createAlbum(t);
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press('Alt+n');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('Holidays');
  await press('Enter');
  await untilStored(site, 'Holidays/');
  await waitForFocus(page, 'Holidays/');
  await press('Enter');
  await page.getByText('This folder is empty.').waitFor();
  const chooser = await openFileChooser(page, () => press('Alt+u'));
  await chooser.setFiles(album);
  await trayShows(page, '12 files uploaded');

  await press('Home', 'Enter');
  await untilPreviewed(page, 'alps at dawn.jpg');
  await press('ArrowRight');
  await untilPreviewed(page, 'balcony.jpg');
  await press('Escape');
  await waitForFocus(page, 'Holidays/balcony.jpg');

  await press('Home');
  await typeAhead(page, 'coast');
  await waitForFocus(page, 'Holidays/coast.jpg');
  await renameByKeyboard(page, 'sea');
  await untilStored(site, 'Holidays/sea.jpg');
  await untilDeleted(site, 'Holidays/coast.jpg');
  await waitForFocus(page, 'Holidays/sea.jpg');

  await press('Home');
  await typeAhead(page, 'lake');
  await waitForFocus(page, 'Holidays/lake.png');
  await press('Control+x', 'Alt+ArrowUp');
  await row(page, 'Holidays/').waitFor();
  await press('Control+v');
  await untilStored(site, 'lake.png');
  const undo = undoButton(page, 'lake.png');
  await undo.waitFor();
  await pressUntilFocused(page, 'F6', 'Undo');
  while (!(await undo.evaluate((button) => button === document.activeElement))) await press('Tab');
  await press('Enter');
  await untilStored(site, 'Holidays/lake.png');
  await untilDeleted(site, 'lake.png');

  await pressUntilFocused(page, 'F6', 'an entry');
  await typeAhead(page, 'holi');
  await press('Enter');
  await waitForFocus(page, 'Holidays/alps at dawn.jpg');
  // The folder shows its photos in rows.
  await press('Home', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Delete');
  await page.getByRole('button', { name: 'Delete 3 items' }).waitFor();
  await pressUntilFocused(page, 'Tab', 'Delete 3 items');
  await press('Enter');
  for (const name of ['alps at dawn.jpg', 'balcony.jpg', 'dunes.png']) await untilDeleted(site, `Holidays/${name}`);
  assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/')).length, 9);
});
