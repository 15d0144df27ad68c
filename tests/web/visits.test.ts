import assert from 'node:assert/strict';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { CreateLink, LinkCreated } from '../../src/http/schemas.ts';
import type { Need } from '../runner/needs.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { assertAccessible } from './axe.ts';
import { openPage, type Visit } from './browser.ts';
import { button, row, swipe, waitForNoOverflow, waitForTitle } from './elements.ts';
import { requestsOf } from './intercept.ts';
import { DESKTOP, PHONE } from './open-site.ts';
import { photo } from './samples.ts';
import { UNAUTHORIZED } from './signing-in.ts';
import { type Site, type SiteOptions, startSite } from './site.ts';
import { dropPaths, localFolder, openFileChooser, testFile } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

/** Creates a share link. Returns its URL, and a function that revokes it. */
async function share(site: Site, link: CreateLink): Promise<{ url: string; revoke: () => Promise<void> }> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${site.url}-/links`, { method: 'POST', headers, body: JSON.stringify(link) });
  assert.ok(response.ok, await response.clone().text());
  const created = (await response.json()) as LinkCreated;
  return {
    url: created.url,
    async revoke() {
      const { status } = await fetch(`${site.url}-/links/${created.link.id}`, { method: 'DELETE' });
      assert.equal(status, 200);
    },
  };
}

interface Scene {
  readonly files: NonNullable<SiteOptions['files']>;
  readonly link: CreateLink;
  readonly visit?: Partial<Visit>;
}

/** Opens a share link in the browser of a visitor. Fails if the page sends a request that needs an account. */
async function openLink(t: TestContext, { files, link, visit }: Scene) {
  const site = await startSite(t, { store: 'disk', files });
  // Photos of the same time are sorted by their names.
  const now = new Date();
  await Promise.all(Object.keys(files).map((path) => utimes(join(site.root ?? '', path), now, now)));
  const { url, revoke } = await share(site, link);
  const page = await openPage(t, { ...DESKTOP, ...visit, url });
  const forbidden = ['-/changes', '-/jobs', '-/session', '-/trash', '-/versions'].map((part) => requestsOf(page, part));
  t.after(() =>
    assert.deepEqual(
      forbidden.flatMap((requests) => requests()),
      [],
    ),
  );
  return { site, page, revoke };
}

const PASSWORD = 'alpine meadow 7';

describe('A visitor on a phone', () => {
  it('opens a link with a password, views photos, downloads all, and sends files up to the limits of another link', async (t) => {
    const drawn = await Promise.all([1, 2, 3, 4, 5, 6].map((seed) => photo(seed, { width: 300, height: 200 })));
    const album = drawn.map((content, index) => [`Alps/${index + 1}.jpg`, content] as const);
    const { page, site } = await openLink(t, {
      files: { ...Object.fromEntries(album), 'private.txt': 'secret', 'Inbox/': '' },
      link: { path: 'Alps/', password: PASSWORD, label: 'Our week in the Alps' },
      visit: { ...PHONE, expectedErrors: [UNAUTHORIZED, /40[34] /] },
    });
    await waitForTitle(page, 'Enter the password');
    assert.doesNotMatch(await page.content(), /Alps/);
    await page.getByLabel('Password').fill('guess');
    await button(page, 'Open').tap();
    await page.getByRole('alert').getByText('Wrong password.').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByLabel('Password').press('Enter');

    await waitForTitle(page, 'Our week in the Alps');
    assert.equal(await page.title(), 'Our week in the Alps – Holdall');
    await page.locator('.thumbnail.loaded img').nth(5).waitFor();
    await waitForNoOverflow(page);
    await assertAccessible(page, t, { state: 'the folder of a link' });
    const viewer = page.getByRole('dialog');
    await row(page, '1.jpg').tap();
    await viewer.getByRole('img', { name: '1.jpg' }).waitFor();
    await swipe(page, [300, 300], [60, 300]);
    await viewer.getByRole('img', { name: '2.jpg' }).waitFor();
    await button(viewer, 'Close').tap();

    const tools = page.getByRole('toolbar');
    await page.keyboard.press('?');
    const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await shortcuts.getByText('Download all', { exact: true }).waitFor();
    assert.equal(await shortcuts.getByText(/^(Share|Shared links|Trash)$/).count(), 0);
    await page.keyboard.press('Escape');
    const [download] = await Promise.all([page.waitForEvent('download'), button(tools, 'Download all').tap()]);
    assert.equal(download.url(), `${page.url()}-/zip/`);
    const names = parseArchive(await readFile(await download.path())).map(({ name }) => name.replace(/.*\//, ''));
    assert.deepEqual(names.toSorted(), album.map(([path]) => path.slice('Alps/'.length)).toSorted());

    // A file request in Arabic.
    const limits = { maxUploads: 1, maxUploadBytes: 10 };
    const request = await share(site, {
      path: 'Inbox/',
      permissions: ['write'],
      label: 'Photos of the party',
      ...limits,
    });
    await page.evaluate(() => localStorage.setItem('holdall', JSON.stringify({ language: 'ar', theme: 'dark' })));
    await page.goto(request.url);
    await waitForTitle(page, 'Photos of the party');
    await waitForNoOverflow(page);
    const chooser = await openFileChooser(page, () => button(page, 'اختيار ملفات').tap());
    await chooser.setFiles([
      testFile('large.txt', 'x'.repeat(11)),
      testFile('small.txt', 'x'),
      testFile('late.txt', 'y'),
    ]);
    await page.getByText('لم يعد هذا الرابط يقبل ملفات').waitFor();
    await page.getByText('بلغ هذا الرابط حدّه الأقصى').waitFor();
    assert.equal(Object.keys(await storedTexts(site, 'Inbox')).length, 1);
  });
});

/** Returns the contents of the files in a folder, by path. */
async function storedTexts({ root = '' }: Site, folder: string): Promise<Readonly<Record<string, string>>> {
  const names = (await readdir(join(root, folder), { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const texts = names.map(async ({ parentPath, name }) => {
    const path = join(parentPath, name);
    return [path.slice(root.length + 1), await readFile(path, 'utf8')] as const;
  });
  return Object.fromEntries(await Promise.all(texts));
}

const waitForStatus = (page: Page, text: string) => page.getByRole('heading', { level: 2, name: text }).waitFor();

describe('A file request', () => {
  it('receives 12 dropped files, and shows nothing of the folder', async (t) => {
    const names = Array.from({ length: 12 }, (_, index) => `scan ${String(index + 1).padStart(2, '0')}.txt`);
    const existing = { 'Inbox/other.txt': 'not for visitors', 'Inbox/Ann/scan 01.txt': 'from an earlier visit' };
    const { site, page, revoke } = await openLink(t, {
      files: existing,
      link: { path: 'Inbox/', permissions: ['write'], askSender: true, maxUploads: 13 },
      visit: { expectedErrors: [/404 \(Not Found\).*\/upload/] },
    });
    await waitForTitle(page, 'Upload files to “\u2068Inbox\u2069”');
    await assertAccessible(page, t, { state: 'a file request' });
    assert.doesNotMatch(await page.content(), /other\.txt/);
    const folder = await localFolder(t, Object.fromEntries(names.map((name) => [name, `content of ${name}`])));
    const zone = page.getByText('Drop files or folders here');
    await dropPaths(
      page,
      zone,
      names.map((name) => join(folder, name)),
    );

    // The name of the sender is missing, so that a dialog asks for it.
    const dialog = page.getByRole('dialog', { name: 'Who are the files from?' });
    await button(dialog, 'Upload').click();
    await dialog.getByText('Enter a name.').waitFor();
    await dialog.getByLabel('Your name').fill('Ann');
    await dialog.getByLabel('Your name').press('Enter');
    await waitForStatus(page, '12 files uploaded');
    await page.getByText('1 upload left').waitFor();
    const list = page.getByRole('list', { name: 'Uploads' });
    await page.getByRole('group', { name: 'Uploads' }).evaluate((scroller) => scroller.scrollTo(0, 0));
    await list.getByText(names[0] ?? '', { exact: true }).waitFor();
    // A number would reveal that the name was taken.
    assert.doesNotMatch((await list.textContent()) ?? '', /\(2\)|Uploaded as/);

    const sent = names.map((name) => [`Inbox/Ann/${name}`, `content of ${name}`] as const);
    const expected = { ...Object.fromEntries(sent), ...existing };
    const { 'Inbox/Ann/scan 01 (2).txt': numbered, ...others } = await storedTexts(site, 'Inbox');
    assert.equal(numbered, 'content of scan 01.txt');
    assert.deepEqual(others, expected);

    // The tab remembers the sender.
    await page.reload();
    assert.equal(await page.getByLabel('Your name').inputValue(), 'Ann');
    await revoke();
    const chooser = await openFileChooser(page, () => button(page, 'Choose files').click());
    await chooser.setFiles([testFile('late.txt', 'too late')]);
    await waitForStatus(page, '1 failed');
    await page.getByRole('alert').getByText('This link is no longer available').waitFor();
    await list.getByText('late.txt').waitFor();
  });
});

describe('A link to a file', () => {
  const FILES = { 'Docs/plan.md': '# Plan\n\nFirst, we pack.\n', 'Docs/other.md': '# Other\n' };

  it('shows the preview, downloads it, requests nothing by itself if downloads are limited, and ends with the file', async (t) => {
    const { site, page, revoke } = await openLink(t, {
      files: { ...FILES, 'lake.jpg': await photo(1, { width: 1280, height: 960 }) },
      link: { path: 'Docs/plan.md' },
      visit: { expectedErrors: [/404 \(Not Found\)/] },
    });
    const download = page.getByRole('link', { name: 'Download' });
    await waitForTitle(page, 'plan.md');
    await page.getByText('First, we pack.').waitFor();
    await assertAccessible(page, t, { state: 'a link to a file' });
    const [downloaded] = await Promise.all([page.waitForEvent('download'), download.click()]);
    assert.equal(downloaded.suggestedFilename(), 'plan.md');
    await revoke();
    await download.click();
    await waitForTitle(page, 'This link isn’t available');

    const other = await share(site, { path: 'Docs/other.md' });
    await page.goto(other.url);
    await waitForTitle(page, 'other.md');
    assert.equal((await fetch(`${site.url}delete/Docs/other.md`, { method: 'DELETE' })).status, 200);
    await page.reload();
    await waitForTitle(page, 'This link isn’t available');
    assert.equal(await page.getByRole('button', { name: /^(Retry|Back to folder)$/ }).count(), 0);

    const limited = await share(site, { path: 'lake.jpg', maxDownloads: 1 });
    const requested = requestsOf(page, '/file/');
    await page.goto(limited.url);
    await page.locator('.preview-notice').getByText('1 download left').waitFor();
    await page.locator('.thumbnail.loaded img').waitFor();
    assert.deepEqual(requested(), []);
    const [last] = await Promise.all([page.waitForEvent('download'), download.click()]);
    assert.equal(await last.failure(), null);
    await page.locator('.preview-notice').getByText('No downloads left').waitFor();
    await download.waitFor({ state: 'detached' });
  });
});
