import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { openPage, type Visit } from './browser.ts';
import { boxOf, longPress, renameByKeyboard, row, typeAhead, typeName, waitForFocus } from './elements.ts';
import { testFile } from './file-owner.ts';
import { DESKTOP, PHONE } from './open-site.ts';
import { photos, SOURCE_CODE } from './samples.ts';
import { type Site, startSite } from './site.ts';
import {
  dropPaths,
  keepFoldersClosed,
  openFileChooser,
  tray,
  trayShows,
  uploadRow,
  waitWhileRepeating,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/*
 * The tasks of a new user: create a folder, upload a folder of photos, preview them, rename one, move one and undo that,
 * delete three. With a mouse, by touch and by keyboard.
 */

const FILES = {
  'Documents/plan.md': '# Plan\n',
  'Music/': '',
  'Projects/holdall/main.ts': SOURCE_CODE,
  'budget 2026.csv': 'what,how much\nrent,900\n',
  'letter.txt': 'Dear reader,\n',
  'notes.md': '# Notes\n',
};

/** The name of the local folder with the photos. */
const ALBUM = 'Alps';

let album: string;
let photoNames: readonly string[];
before(async () => {
  album = join(await temporaryFolder(testFile), ALBUM);
  await mkdir(album);
  // Drawing full-size photos would take longer than the tests.
  const files = await photos({ scale: 0.25 });
  for (const [name, content] of Object.entries(files)) await writeFile(join(album, name), content);
  photoNames = Object.keys(files);
});

async function start(t: TestContext, visit: Partial<Visit>): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: site.url, reducedMotion: false });
  await row(page, 'letter.txt').waitFor();
  return { site, page };
}

const untilStored = (site: Site, path: string) => until(`${path} is stored`, () => site.exists(path));
const untilDeleted = (site: Site, path: string) => until(`${path} is deleted`, async () => !(await site.exists(path)));
const untilThumbnails = (page: Page, count: number) =>
  until('all thumbnails are loaded', async () => {
    const images = page.locator('.thumbnail.loaded img');
    return (await images.count()) >= count;
  });

/** Waits until the preview has loaded the image with this name. */
async function untilPreviewed(page: Page, name: string): Promise<void> {
  const picture = page.getByRole('dialog').getByRole('img', { name });
  await picture.waitFor();
  await until('the image is loaded', () =>
    picture.evaluate((image) => image instanceof HTMLImageElement && image.complete),
  );
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

/** Returns the undo button of the message about a file. */
function undoButton(page: Page, name: string): Locator {
  return page.locator('[data-message]').filter({ hasText: name }).getByRole('button', { name: 'Undo' });
}

async function dragTo(page: Page, from: Locator, to: Locator): Promise<void> {
  await keepFoldersClosed(page);
  await from.hover();
  await page.mouse.down();
  const box = await boxOf(to);
  const [x, y] = [box.x + Math.min(60, box.width / 2), box.y + box.height / 2];
  await page.mouse.move(x, y, { steps: 5 });
  await waitWhileRepeating(page.locator('.drop-hint'), () => page.mouse.move(x, y));
}

describe('A new user', () => {
  it('sorts photos into a folder with a mouse', async (t) => {
    const { site, page } = await start(t, {});
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('Holidays');
    await page.getByRole('button', { name: 'Create' }).click();
    await untilStored(site, 'Holidays/');

    await dropPaths(page, row(page, 'Holidays/'), [album]);
    await trayShows(page, '12 files uploaded');
    // The tray closes by itself after a while.
    await tray(page).getByRole('button', { name: 'Close' }).click();
    await tray(page).waitFor({ state: 'detached' });
    await untilStored(site, 'Holidays/Alps/harbour.jpg');
    await row(page, 'Holidays/').dblclick();
    await row(page, 'Holidays/Alps/').dblclick();
    await page.getByRole('button', { name: 'Grid' }).first().click();
    await untilThumbnails(page, 12);

    const first = row(page, 'Holidays/Alps/alps at dawn.jpg');
    await first.dblclick();
    await untilPreviewed(page, 'alps at dawn.jpg');
    await page.getByRole('button', { name: 'Next file' }).click();
    await untilPreviewed(page, 'balcony.jpg');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await row(page, 'Holidays/Alps/coast.jpg').click();
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await typeName(page, 'sea');
    await untilStored(site, 'Holidays/Alps/sea.jpg');
    await untilDeleted(site, 'Holidays/Alps/coast.jpg');

    const up = page.getByRole('navigation').getByRole('link', { name: 'Holidays', exact: true });
    await dragTo(page, row(page, 'Holidays/Alps/lake.png').locator('.sight'), up);
    await page.mouse.up();
    await untilStored(site, 'Holidays/lake.png');
    await undoButton(page, 'lake.png').click();
    await untilStored(site, 'Holidays/Alps/lake.png');
    await untilDeleted(site, 'Holidays/lake.png');

    await row(page, 'Holidays/Alps/dunes.png').click();
    for (const name of ['evening.jpg', 'garden wall.jpg']) {
      await row(page, `Holidays/Alps/${name}`).click({ modifiers: ['Control'] });
    }
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete 3 items' }).waitFor();
    await page.getByRole('button', { name: 'Delete 3 items' }).click();
    for (const name of ['dunes.png', 'evening.jpg', 'garden wall.jpg'])
      await untilDeleted(site, `Holidays/Alps/${name}`);
    assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/Alps/')).length, 9);
  });

  it('sorts photos into a folder by touch on a phone', IN_FULL_FORM_ONLY, async (t) => {
    const { site, page } = await start(t, { ...PHONE, theme: 'dark' });
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
    await chooser.setFiles(photoNames.map((name) => join(album, name)));
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

  // tests/web/keyboard.test.ts, folder.test.ts and changes.test.ts test each of these steps.
  if (isFullForm) {
    it('sorts photos into a folder by keyboard', async (t) => {
      const { site, page } = await start(t, {});
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
      await chooser.setFiles(photoNames.map((name) => join(album, name)));
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
  }
});
