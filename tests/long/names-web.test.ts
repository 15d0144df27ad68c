// Names in every list at three widths. Columns and the shortening of names are proven in tests/web/models; only this file finds
// a name whose start a layout hides. It measures each text of eleven views at each width.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { openPage } from '../web/browser.ts';
import { row, title, waitForNoOverflow, waitForTitle } from '../web/elements.ts';
import { FILES as DEEP_FILES, DEEP_FOLDER, DESKTOP, openSite } from '../web/open-site.ts';
import { type Site, startSite } from '../web/site.ts';
import { openFileChooser, testFile, trayShows } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

const WIDTHS = [320, 700, 1440];

const LONG = 'A very long report about the results of the year and everything that follows (final version).pdf';
const NAMES = [
  'Contracts/',
  '2026/',
  'a.txt',
  'bill_2026.pdf',
  LONG,
  'عقد العمل الطويل جدا مع جميع الملاحق والتوقيعات والمراسلات التابعة له لسنة 2026.pdf',
  '2024-05-01 عقد.pdf',
  '2024-05-01 عقد العمل الطويل جدا مع جميع الملاحق والتوقيعات والمراسلات.pdf',
  'Report תקציב עם שם ארוך מאוד שלא נכנס בשום עמודה של רשימה צרה ולא רחבה 2026 (copy).pdf',
  'anamewithoutanyseparatorandwithoutanextensionthatislongerthanthecolumnsofmostlistsinmostwindows',
  `${'e\u0301'.repeat(70)}.txt`,
  `${'長い名前'.repeat(14)}.md`,
];
const FOLDER = 'A folder with a name that is longer than its column in most lists/';
const FILES = Object.fromEntries(NAMES.map((name) => [FOLDER + name, name.endsWith('/') ? '' : 'x']));

test('Names keep their start in every list at every width, and columns disappear before names are cut', async (t) => {
  const site = await startSite(t, { store: 'disk', files: FILES, settings: { TRASH_DAYS: '30' } });
  await prepare(site);
  const page = await openPage(t, { ...DESKTOP, url: site.url + encodeURI(FOLDER) });
  await row(page, `${FOLDER}a.txt`).waitFor();

  const problems: string[] = [];
  const look = async (state: string, part?: string) => void problems.push(...(await problemsOf(page, state, part)));
  const direct = (dir: string) => page.evaluate((value) => void (document.documentElement.dir = value), dir);
  await look('Files');
  await direct('rtl');
  await look('Files from right to left');
  await direct('ltr');
  await page.getByRole('button', { name: 'Grid' }).first().click();
  await page.locator('.tile').first().waitFor();
  await look('Files as tiles');
  await page.getByRole('button', { name: 'List' }).first().click();

  for (const view of ['Recent', 'Shared links', 'Trash']) {
    await page.locator('.sidebar').getByRole('link', { name: view }).click();
    await waitForTitle(page, view);
    await page.locator('[data-id]').nth(4).waitFor();
    await look(view);
  }

  await page.getByRole('treeitem', { name: FOLDER.slice(0, -1) }).click();
  await row(page, `${FOLDER}a.txt`).waitFor();
  const long = NAMES.filter((name) => name.length > 50);
  const upload = page.getByRole('button', { name: 'Upload', exact: true }).first();
  const chooser = await openFileChooser(page, () => upload.click());
  await chooser.setFiles(long.map((name) => testFile(`New ${name}`, 'x')));
  await trayShows(page, `${long.length} files uploaded`);
  await page.locator('.upload-row').first().waitFor();
  await look('the upload tray', '.tray');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('a');
  await page.locator('.palette li').nth(2).waitFor();
  await look('the palette', '.palette');
  await page.keyboard.press('Escape');

  const dialog = page.locator('dialog.dialog');
  await row(page, FOLDER + LONG).click();
  await page.keyboard.press('Alt+Enter');
  await page.locator('.activity li').first().waitFor();
  await look('the details', '.details-sheet');
  await page.keyboard.press('Alt+Enter');
  await page.locator('.details-sheet').waitFor({ state: 'detached' });
  for (const [keys, name] of [
    ['Alt+Shift+m', 'the picker of a folder'],
    ['Control+a Shift+Delete', 'the question before a delete of several'],
  ] as const) {
    for (const key of keys.split(' ')) await page.keyboard.press(key);
    await dialog.waitFor();
    await look(name, 'dialog.dialog');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  assert.deepEqual(problems, []);
});

/** Puts the same names into the trash, the links and the changes. */
async function prepare({ url }: Site): Promise<void> {
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    assert.equal(response.ok, true, `${method} ${path}: ${response.status}`);
  };
  for (const name of NAMES) {
    await send('POST', '-/links', { path: FOLDER + name, label: `Label: ${name}` });
    if (name.endsWith('/')) {
      await send('POST', 'create_folder', { path: `${FOLDER}Old ${name}` });
      await send('DELETE', `delete_folder/${encodeURIComponent(`${FOLDER}Old ${name}`)}`);
    } else {
      await send('POST', 'copy', { source: FOLDER + name, destination: `${FOLDER}Old ${name}`, is_folder: false });
      await send('DELETE', `delete/${encodeURIComponent(`${FOLDER}Old ${name}`)}`);
      await send('POST', 'copy', { source: FOLDER + name, destination: name, is_folder: false });
    }
  }
}

/** Returns which names of a part of the page are unreadable, at any width. */
async function problemsOf(page: Page, state: string, part = '.content'): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    // The list measures itself before the next frame.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const found = await page.locator(part).evaluate(unreadableNames);
    problems.push(...found.map((problem) => `${state}, ${width} px: ${problem}`));
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  return problems;
}

/**
 * Returns the texts whose first character is not visible, or that are clipped without an ellipsis. In lists, also the names
 * that are clipped beside other columns although they have little room. Runs in the page.
 */
function unreadableNames(part: Element): string[] {
  /** Rem that a name has at least beside other columns, with its icon. */
  const MIN_NAME = 17;
  const problems: string[] = [];
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  const names = part.querySelectorAll('.entry-name, .truncated-name, [role="gridcell"]:not(.more), bdi');
  if (names.length === 0) problems.push('no names');
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent ?? '';
    const owner = element?.closest('.entry-name, .truncated-name, [role="gridcell"]:not(.more), bdi');
    if (!element || !owner || text.trim() === '' || element.closest('.visually-hidden, button')) continue;
    if (!element.checkVisibility()) continue;
    const box = owner.getBoundingClientRect();
    // Rows above and below the visible part.
    if (box.bottom > window.innerHeight || box.top < 0) continue;
    const [first, last] = [visibleShare(node, 0), visibleShare(node, text.length - 1)];
    if (first < 0.5 && isFirstInLine(node)) problems.push(`“${text.slice(0, 30)}” has no visible start`);
    else if (first >= 0.5 && last < 0.9 && !hasEllipsis(element))
      problems.push(`“${text.slice(0, 30)}” is clipped without an ellipsis`);
    const cell = element.closest('[role="gridcell"].name');
    const hasColumns = cell?.nextElementSibling?.matches('.more') === false;
    if (last < 0.9 && cell && hasColumns && cell.clientWidth < MIN_NAME * rem) {
      problems.push(`“${text.slice(0, 30)}” has ${cell.clientWidth} px beside other columns`);
    }
  }
  return problems;

  /** Returns how much of the width of a character its scrollers and clipping boxes show. */
  function visibleShare(node: Node, offset: number): number {
    const range = document.createRange();
    range.setStart(node, offset);
    range.setEnd(node, offset + 1);
    let { left, right } = range.getBoundingClientRect();
    const width = right - left;
    // A part of a character, such as a mark.
    if (width === 0) return 1;
    for (let box = node.parentElement; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowX === 'visible') continue;
      const clip = box.getBoundingClientRect();
      left = Math.max(left, clip.left);
      right = Math.min(right, clip.right);
    }
    left = Math.max(left, 0);
    right = Math.min(right, window.innerWidth);
    return Math.max(0, right - left) / width;
  }

  /** Of a line with several texts, those after the ellipsis are hidden. */
  function isFirstInLine(node: Node): boolean {
    let box = node.parentElement;
    while (box && getComputedStyle(box).overflowX === 'visible') box = box.parentElement;
    return box?.textContent?.startsWith(node.textContent ?? '') === true;
  }

  function hasEllipsis(element: Element): boolean {
    for (let box: Element | null = element; box && box !== part; box = box.parentElement) {
      const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(box);
      if (overflowX !== 'visible') return textOverflow === 'ellipsis' || webkitLineClamp !== 'none';
    }
    return false;
  }
}

test('On a tablet and on a phone in landscape mode, the top bar has space for the folder name', async (t) => {
  const { page } = await openSite(t, { files: DEEP_FILES, folder: DEEP_FOLDER });
  for (const size of [
    { width: 820, height: 1180 },
    { width: 667, height: 375 },
  ]) {
    await page.setViewportSize(size);
    await until(`the whole name is visible at ${size.width} pixels`, () =>
      title(page)
        .locator('a')
        .evaluate((link) => link.clientWidth > 0 && link.scrollWidth <= link.clientWidth),
    );
  }
  await page.getByRole('searchbox').fill('bird');
  await waitForNoOverflow(page);
});
