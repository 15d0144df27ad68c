import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { openPage, type Visit } from './browser.ts';
import { focusedPath, longPress, row } from './elements.ts';
import { testFile } from './file-owner.ts';
import { DESKTOP, PHONE } from './open-site.ts';
import { photos, SOURCE_CODE } from './samples.ts';
import { type Site, startSite } from './site.ts';
import { chooserAfter, dropPaths, tray, trayTells, upload } from './uploading.ts';

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

/** The name of the folder with the photos on the user's machine. */
const ALBUM = 'Alps';

let album: string;
let photoNames: readonly string[];
before(async () => {
  album = join(await temporaryFolder(testFile), ALBUM);
  await mkdir(album);
  // Drawing photos of full size takes longer than a journey.
  const files = await photos({ scale: 0.25 });
  for (const [name, content] of Object.entries(files)) await writeFile(join(album, name), content);
  photoNames = Object.keys(files);
});

async function begin(t: TestContext, visit: Partial<Visit>): Promise<{ site: Site; page: Page }> {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: site.url, reducedMotion: false });
  await row(page, 'letter.txt').waitFor();
  return { site, page };
}

const stored = (site: Site, path: string) => until(`${path} is stored`, () => site.exists(path));
const gone = (site: Site, path: string) => until(`${path} is gone`, async () => !(await site.exists(path)));
const drawn = (page: Page, thumbnails: number) =>
  until('all thumbnails are drawn', async () => {
    const images = page.locator('.thumbnail.loaded img');
    return (await images.count()) >= thumbnails;
  });

/** Waits until the preview shows the whole image of this name. */
async function seen(page: Page, name: string): Promise<void> {
  const picture = page.getByRole('dialog').getByRole('img', { name });
  await picture.waitFor();
  await until('it is loaded', () => picture.evaluate((image) => image instanceof HTMLImageElement && image.complete));
}

/** Presses a key until the focus is on the button with this label, or on `an entry`. */
async function leadTo(page: Page, key: string, place: string): Promise<void> {
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press(key);
    const reached = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.hasAttribute('data-path') ? 'an entry' : element?.textContent?.trim();
    });
    if (reached === place) return;
  }
  assert.fail(`${key} does not lead to ${place}.`);
}

/** Returns the undo button of the message about this file. */
function undoOf(page: Page, name: string): Locator {
  return page.locator('[data-message]').filter({ hasText: name }).getByRole('button', { name: 'Undo' });
}

async function dragTo(page: Page, from: Locator, to: Locator): Promise<void> {
  await from.hover();
  await page.mouse.down();
  const box = await to.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + Math.min(60, box.width / 2), box.y + box.height / 2, { steps: 5 });
  await page.locator('.drop-hint').waitFor();
}

describe('A new user', () => {
  it('sorts photos into a folder with a mouse', { timeout: 120_000 }, async (t) => {
    const { site, page } = await begin(t, {});
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('Holidays');
    await page.getByRole('button', { name: 'Create' }).click();
    await stored(site, 'Holidays/');

    await dropPaths(page, row(page, 'Holidays/'), [album]);
    await trayTells(page, '12 files uploaded');
    await stored(site, 'Holidays/Alps/harbour.jpg');
    await row(page, 'Holidays/').dblclick();
    await row(page, 'Holidays/Alps/').dblclick();
    await page.getByRole('button', { name: 'Grid' }).first().click();
    await drawn(page, 12);
    await tray(page).getByRole('button', { name: 'Close' }).click();
    await tray(page).waitFor({ state: 'detached' });

    const first = row(page, 'Holidays/Alps/alps at dawn.jpg');
    await first.dblclick();
    await seen(page, 'alps at dawn.jpg');
    await page.getByRole('button', { name: 'Next file' }).click();
    await seen(page, 'balcony.jpg');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await row(page, 'Holidays/Alps/coast.jpg').click();
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.keyboard.type('sea');
    await page.keyboard.press('Enter');
    await stored(site, 'Holidays/Alps/sea.jpg');
    await gone(site, 'Holidays/Alps/coast.jpg');

    const up = page.getByRole('navigation').getByRole('link', { name: 'Holidays', exact: true });
    await dragTo(page, row(page, 'Holidays/Alps/lake.png').locator('.sight'), up);
    await page.mouse.up();
    await stored(site, 'Holidays/lake.png');
    await undoOf(page, 'lake.png').click();
    await stored(site, 'Holidays/Alps/lake.png');
    await gone(site, 'Holidays/lake.png');

    await row(page, 'Holidays/Alps/dunes.png').click();
    for (const name of ['evening.jpg', 'garden wall.jpg']) {
      await row(page, `Holidays/Alps/${name}`).click({ modifiers: ['Control'] });
    }
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete 3 items' }).waitFor();
    await page.getByRole('button', { name: 'Delete 3 items' }).click();
    for (const name of ['dunes.png', 'evening.jpg', 'garden wall.jpg']) await gone(site, `Holidays/Alps/${name}`);
    assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/Alps/')).length, 9);
  });

  it('does the same by touch on a phone', { timeout: 120_000 }, async (t) => {
    const { site, page } = await begin(t, { ...PHONE, theme: 'dark' });
    const bar = page.getByRole('toolbar');
    await bar.getByRole('button', { name: 'New folder' }).tap();
    await page.getByRole('dialog').getByRole('textbox').fill('Holidays');
    await page.getByRole('button', { name: 'Create' }).tap();
    await stored(site, 'Holidays/');
    await bar
      .getByRole('button', { name: 'Clear selection' })
      .or(page.getByRole('button', { name: 'Clear selection' }))
      .first()
      .tap();
    await row(page, 'Holidays/').tap();
    await page.getByText('This folder is empty.').waitFor();
    await bar.getByRole('button', { name: 'Upload', exact: true }).tap();
    const chooser = await chooserAfter(page, () => page.getByRole('menuitem', { name: 'Upload files' }).tap());
    await chooser.setFiles(photoNames.map((name) => join(album, name)));
    await trayTells(page, '12 files uploaded');
    await drawn(page, 6);
    assert.equal(await upload(page, 'balcony.jpg').count(), 0, 'The tray is collapsed.');
    await tray(page).getByRole('button', { expanded: false }).tap();
    await upload(page, 'balcony.jpg').waitFor();
    await tray(page).getByRole('button', { name: 'Close' }).tap();

    await row(page, 'Holidays/alps at dawn.jpg').tap();
    await seen(page, 'alps at dawn.jpg');
    await page.getByRole('button', { name: 'Next file' }).tap();
    await seen(page, 'balcony.jpg');
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    const more = async (path: string, item: string) => {
      await row(page, path).getByRole('button', { name: 'More' }).tap();
      await page.getByRole('menuitem', { name: item }).tap();
    };
    await row(page, 'Holidays/coast.jpg').scrollIntoViewIfNeeded();
    await more('Holidays/coast.jpg', 'Rename');
    await page.keyboard.type('sea');
    await page.keyboard.press('Enter');
    await stored(site, 'Holidays/sea.jpg');
    await gone(site, 'Holidays/coast.jpg');
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
    await stored(site, 'lake.png');
    await undoOf(page, 'lake.png').tap();
    await stored(site, 'Holidays/lake.png');
    await gone(site, 'lake.png');

    const [first, ...others] = ['dunes.png', 'evening.jpg', 'fjord panorama.jpg'];
    await longPress(page, `Holidays/${first}`);
    for (const name of [...others, 'balcony.jpg', 'balcony.jpg']) await row(page, `Holidays/${name}`).tap();
    await page.getByText('3 selected').first().waitFor();
    await bar.getByRole('button', { name: 'Delete', exact: true }).tap();
    await page.getByRole('button', { name: 'Delete 3 items' }).tap();
    for (const name of [first, ...others]) await gone(site, `Holidays/${name}`);
    assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/')).length, 9);
  });

  // tests/web/keyboard.test.ts, folder.test.ts and changes.test.ts test each of these steps.
  if (isFullForm) {
    it('does the same by keyboard', { timeout: 120_000 }, async (t) => {
      const { site, page } = await begin(t, {});
      const press = async (...keys: string[]) => {
        for (const key of keys) await page.keyboard.press(key);
      };
      await press('Alt+n');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type('Holidays');
      await press('Enter');
      await stored(site, 'Holidays/');
      await until('it has the focus', async () => (await focusedPath(page)) === 'Holidays/');
      await press('Enter');
      await page.getByText('This folder is empty.').waitFor();
      const chooser = await chooserAfter(page, () => press('Alt+u'));
      await chooser.setFiles(photoNames.map((name) => join(album, name)));
      await trayTells(page, '12 files uploaded');

      await press('Home', 'Enter');
      await seen(page, 'alps at dawn.jpg');
      await press('ArrowRight');
      await seen(page, 'balcony.jpg');
      await press('Escape');
      await until(
        'the file that was seen last has the focus',
        async () => (await focusedPath(page))?.endsWith('balcony.jpg') === true,
      );

      await press('Home');
      await page.keyboard.type('coast');
      await press('F2');
      await page.getByRole('textbox', { name: 'New name for' }).waitFor();
      await page.keyboard.type('sea');
      await press('Enter');
      await stored(site, 'Holidays/sea.jpg');
      await gone(site, 'Holidays/coast.jpg');
      await until('it has the focus', async () => (await focusedPath(page)) === 'Holidays/sea.jpg');

      await press('Home');
      await page.keyboard.type('lake');
      await until('it is found', async () => (await focusedPath(page)) === 'Holidays/lake.png');
      await press('Control+x', 'Alt+ArrowUp');
      await row(page, 'Holidays/').waitFor();
      await press('Control+v');
      await stored(site, 'lake.png');
      const undo = undoOf(page, 'lake.png');
      await undo.waitFor();
      await leadTo(page, 'F6', 'Undo');
      while (!(await undo.evaluate((button) => button === document.activeElement))) await press('Tab');
      await press('Enter');
      await stored(site, 'Holidays/lake.png');
      await gone(site, 'lake.png');

      await leadTo(page, 'F6', 'an entry');
      await page.keyboard.type('holi');
      await press('Enter');
      await row(page, 'Holidays/sea.jpg').waitFor();
      await press('Home', 'Shift+ArrowDown', 'Shift+ArrowDown', 'Delete');
      await page.getByRole('button', { name: 'Delete 3 items' }).waitFor();
      await leadTo(page, 'Tab', 'Delete 3 items');
      await press('Enter');
      for (const name of ['alps at dawn.jpg', 'balcony.jpg', 'dunes.png']) await gone(site, `Holidays/${name}`);
      assert.equal((await site.paths()).filter((path) => path.startsWith('Holidays/')).length, 9);
    });
  }
});
