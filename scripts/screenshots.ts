import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { launchBrowser } from '../testing/servers/chromium.ts';
import { until } from '../testing/until.ts';
import { ALBUM_NAMES, writeUserFiles } from './screenshots/files.ts';

/*
 * Takes the pictures in docs/screenshots: `npm run screenshots`, or those of some groups: `npm run screenshots -- connect`. Needs
 * Chromium and a build. View each picture before you commit it.
 */

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PICTURES = join(ROOT, 'docs/screenshots');

/** The folder that the user uploads, as it is named in the pictures. */
const TRIP = '2026 Norway';

const DESKTOP: BrowserContextOptions = { viewport: { width: 1280, height: 720 }, deviceScaleFactor: 2 };
const PHONE: BrowserContextOptions = {
  viewport: { width: 360, height: 740 },
  deviceScaleFactor: 2,
  hasTouch: true,
  isMobile: true,
  colorScheme: 'dark',
};

/** The pictures by their group, in the order in which they are taken: each changes the files. */
const groups: Readonly<Record<string, (using: Browser) => Promise<void>>> = {
  connect: takeConnectPicture,
  desktop: takeDesktopPictures,
  phone: takePhonePictures,
};

const folder = await mkdtemp(join(tmpdir(), 'holdall-screenshots-'));
const [served, album] = [join(folder, 'files'), join(folder, TRIP)];
await writeUserFiles(served, album);
const port = await freePort();
const service = spawn(process.execPath, [join(ROOT, 'bin/holdall.js')], {
  cwd: folder,
  env: {
    PATH: process.env['PATH'],
    DISK_ROOT: served,
    PORT: String(port),
    PUBLIC_URL: 'https://files.example.org',
    ACCESS: 'open',
    LOG_LEVEL: 'warn',
    AUDIT_LOG: 'off',
  },
  stdio: 'inherit',
});
const url = `http://127.0.0.1:${port}/`;
const browser = await launchBrowser();
try {
  await until('the service responds', async () => (await fetch(url).catch(() => undefined))?.ok === true);
  for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(groups)) {
    const take = groups[name];
    if (!take) throw new Error(`There is no group of pictures "${name}".`);
    await take(browser);
  }
} finally {
  await browser.close();
  service.kill();
  await once(service, 'exit');
  await rm(folder, { recursive: true, force: true });
}

/** The steps for a client, on a computer with Windows. */
async function takeConnectPicture(using: Browser): Promise<void> {
  const userAgent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
  const page = await open(using, { ...DESKTOP, userAgent }, '');
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('menuitem', { name: 'Connect a client' }).click();
  await page.getByRole('dialog').getByText('Map network drive').waitFor();
  await picture(page, 'connect');
  await page.close();
}

async function takeDesktopPictures(using: Browser): Promise<void> {
  const page = await open(using, DESKTOP, '');
  await picture(page, 'list');
  await row(page, 'Photos/').dblclick();
  await row(page, 'Photos/2025 Scotland/').waitFor();
  await page.locator('.split [aria-haspopup="menu"]').first().click();
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('menuitem', { name: 'Upload folder' }).click();
  await (await chooser).setFiles(album);
  await page.getByText(`${ALBUM_NAMES.length} files uploaded`).first().waitFor();
  await picture(page, 'uploaded');
  await restoreTimes();
  await page.close();

  for (const colorScheme of ['light', 'dark'] as const) {
    const grid = await open(using, { ...DESKTOP, colorScheme }, `Photos/${TRIP}/`);
    await drawn(grid, 8);
    await picture(grid, colorScheme === 'light' ? 'grid' : 'grid-dark');
    if (colorScheme === 'light') await takeChanges(grid);
    await grid.close();
  }
}

async function takeChanges(page: Page): Promise<void> {
  await photo(page, 'Geirangerfjord.jpg').dblclick();
  await seen(page, 'Geirangerfjord.jpg');
  await picture(page, 'preview');
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  await photo(page, 'Midnight.jpg').locator('.sight').hover();
  await page.mouse.down();
  const target = await page.getByRole('navigation').getByRole('link', { name: 'Photos', exact: true }).boundingBox();
  if (!target) throw new Error('The link to the parent folder is not visible.');
  await page.mouse.move(target.x + target.width / 2, target.y + target.height / 2, { steps: 5 });
  await page.locator('.drop-hint').waitFor();
  await picture(page, 'drag');
  await page.keyboard.press('Escape');
  await page.mouse.up();

  await page.locator('.folder-view [data-scroller]').evaluate((scroller) => scroller.scrollTo(0, 0));
  await photo(page, 'Lighthouse coast.jpg').click();
  for (const name of ['Midnight.jpg', 'Morning fog.jpg']) await photo(page, name).click({ modifiers: ['Control'] });
  await page.getByRole('button', { name: 'Move to trash' }).click();
  await page.getByText('3 items moved to trash').first().waitFor();
  await page.getByRole('link', { name: 'Trash', exact: true }).click();
  await page.locator('[data-id]').nth(2).waitFor();
  await picture(page, 'trash');
  await page.keyboard.press('ControlOrMeta+z');
  await page.getByText('The trash is empty.').waitFor();
}

async function takePhonePictures(using: Browser): Promise<void> {
  const page = await open(using, PHONE, '');
  await picture(page, 'phone-list');
  await page.close();

  const preview = await open(using, PHONE, `Photos/${TRIP}/`);
  await photo(preview, 'Lighthouse coast.jpg').tap();
  await seen(preview, 'Lighthouse coast.jpg');
  await picture(preview, 'phone-preview');
  await preview.close();

  const selection = await open(using, PHONE, `Photos/${TRIP}/`);
  await drawn(selection, 4);
  await longPress(selection, photo(selection, 'Lighthouse coast.jpg'));
  for (const name of ['Midnight.jpg', 'Rain is coming.jpg']) await photo(selection, name).tap();
  await selection.getByText('3 selected').first().waitFor();
  await picture(selection, 'phone-selection');
  await selection.close();

  const move = await open(using, PHONE, `Photos/${TRIP}/`);
  await drawn(move, 4);
  await longPress(move, photo(move, 'Lighthouse coast.jpg'));
  await move.getByRole('toolbar').getByRole('button', { name: 'Move to…' }).tap();
  const picker = move.getByRole('dialog');
  const root = picker.getByRole('link', { name: 'Files' }).or(picker.getByRole('button', { name: 'Files' }));
  await root.first().tap();
  await picker.getByText('Recipes').waitFor();
  await picture(move, 'phone-move');
  await move.close();

  await mkdir(join(served, 'Photos/Favourites'));
  const upload = await open(using, PHONE, 'Photos/Favourites/');
  const bar = upload.getByRole('toolbar');
  await bar.getByRole('button', { name: 'Upload', exact: true }).tap();
  const chooser = upload.waitForEvent('filechooser');
  await upload.getByRole('menuitem', { name: 'Upload files' }).tap();
  await (await chooser).setFiles(ALBUM_NAMES.slice(0, 12).map((name) => join(album, name)));
  await upload.getByText('12 files uploaded').first().waitFor();
  await drawn(upload, 4);
  await picture(upload, 'phone-uploaded');
  await upload.close();
}

async function open(using: Browser, options: BrowserContextOptions, path: string): Promise<Page> {
  const context = await using.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  // Playwright chooses files only in the picker of an input.
  await page.addInitScript('delete window.showOpenFilePicker');
  await page.goto(url + path.split('/').map(encodeURIComponent).join('/'));
  await page.locator('[data-path]').or(page.getByText('This folder is empty.')).first().waitFor();
  return page;
}

async function picture(page: Page, name: string): Promise<void> {
  const loading = page.locator('.thumbnail.loading');
  await until('no thumbnail is loading', async () => (await loading.count()) === 0);
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  await sharp(png)
    .webp({ quality: 82, effort: 6 })
    .toFile(join(PICTURES, `${name}.webp`));
}

function row(page: Page, path: string): Locator {
  return page.locator(`[data-path="${path}"]`);
}

function photo(page: Page, name: string): Locator {
  return row(page, `Photos/${TRIP}/${name}`);
}

async function drawn(page: Page, thumbnails: number): Promise<void> {
  const images = page.locator('.thumbnail.loaded img');
  await until('the thumbnails are drawn', async () => (await images.count()) >= thumbnails);
}

/** Waits until the preview shows the whole image. */
async function seen(page: Page, name: string): Promise<void> {
  await page.getByRole('dialog').getByRole('img', { name }).waitFor();
  await page.locator('.picture.loaded').waitFor();
}

async function longPress(page: Page, element: Locator): Promise<void> {
  const box = await element.boundingBox();
  if (!box) throw new Error('The element is not visible.');
  const client = await page.context().newCDPSession(page);
  const touchPoints = [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }];
  await client.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
  await element.and(page.locator('[aria-selected="true"]')).waitFor();
  await client.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}

/** Gives the uploaded photos the times of the originals: a browser that Playwright controls sends others. */
async function restoreTimes(): Promise<void> {
  for (const name of await readdir(album)) {
    await cp(join(album, name), join(served, 'Photos', TRIP, name), { preserveTimestamps: true });
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.');
  return address.port;
}
