// The layout in Arabic: names, menus, drags, paths and code, by their coordinates, and the trash on a phone. The ordinary tests use
// the page in Arabic without measuring it. Only this file finds a part at the wrong side.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import {
  boxOf,
  boxOfText,
  button,
  focusedName,
  isMirrored,
  longPress,
  row,
  selectedPaths,
  swipe,
  title,
  toolbar,
  waitForFocus,
  waitForNoOverflow,
} from '../web/elements.ts';
import { textOf } from '../web/models/languages.ts';
import { FILES as DEEP_FILES, DEEP_FOLDER, DESKTOP, openSite, PHONE } from '../web/open-site.ts';
import { photo } from '../web/samples.ts';
import { openFileChooser, testFile, throttleUploads } from '../web/uploading.ts';

export const needs: readonly Need[] = ['browser'];

const ARABIC = { ...DESKTOP, language: 'ar' } as const;
const FILES = {
  'a.ts': `// تعليق\nexport const name = 'x'; ${'/* long */ '.repeat(100)}\n`,
  'b.json': '{"list": [{"a": {"b": 1}}], "اسم": "قيمة"}',
  'c.csv': 'name,age\nعلي,25\nBob,31\n',
  'd.md': '# Heading\n\nفقرة عربية.\n\n> اقتباس عربي.\n\n- one\n- عنصر\n',
  'e.txt': 'مرحبا.\nHello.\n',
  'تقارير/2026 Budget/x.txt': 'x',
};
const text = await textOf('ar');

test('In Arabic, names, menus and progress start at the right, and paths and code are from left to right', async (t) => {
  const tiles = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`تقارير/${100 + index}.txt`, '']));
  const { page } = await openSite(t, { files: { ...FILES, ...tiles }, folder: 'تقارير/2026 Budget/', visit: ARABIC });
  await ordersPaths(page);
  await page.keyboard.press('Alt+ArrowUp');
  await row(page, 'تقارير/100.txt').waitFor();
  await mirrorsTiles(page);
  await page.keyboard.press('Alt+ArrowUp');
  await directsTexts(page);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  // Ends the selection, so that the toolbar is that of the folder.
  await page.keyboard.press('Escape');
  await fillsTray(page);
});

async function ordersPaths(page: Page): Promise<void> {
  await row(page, 'تقارير/2026 Budget/x.txt').click();
  await page.keyboard.press('Alt+Enter');
  const details = page.locator('.details-sheet');
  const [reports, budget] = [details.getByText('تقارير'), details.getByText('2026 Budget')];
  assert.ok((await boxOf(reports.last())).x < (await boxOf(budget.last())).x);

  await page.keyboard.press('Alt+Shift+M');
  const picker = page.getByRole('dialog');
  await picker.getByRole('navigation').getByRole('button', { name: 'تقارير' }).click();
  const folder = picker.getByRole('option', { name: '2026 Budget' });
  const icon = await boxOf(folder.locator('.entry-icon'));
  assertNear(await endOfText(folder.locator('bdi')), icon.x - 12);
  assert.equal(await isMirrored(folder), true);
  const field = picker.getByRole('combobox');
  await becomes(() => directionOf(field), 'rtl');
  await field.fill('2026');
  await becomes(() => directionOf(field), 'ltr');
  await page.keyboard.press('Escape');
  await picker.waitFor({ state: 'detached' });
}

/** The rubber band follows the mouse. Menus and drag images are at the right. */
async function mirrorsTiles(page: Page): Promise<void> {
  await page.getByRole('button', { name: text.shell.gridView }).first().click();
  await page.locator('.tile').first().waitFor();
  const [first, second, third] = await Promise.all(
    ['تقارير/100.txt', 'تقارير/101.txt', 'تقارير/102.txt'].map((path) => boxOf(row(page, path))),
  );
  assert.ok(first && second && third);
  const tileName = await row(page, 'تقارير/100.txt').locator('.entry-name').evaluate(boxOfText);
  assertNear(tileName.right, (await endOf(row(page, 'تقارير/100.txt').locator('.caption'))) - 4);
  await page.mouse.move(second.x + second.width - 3, second.y + 2);
  await page.mouse.down();
  await page.mouse.move(third.x + 3, third.y + 60, { steps: 4 });
  const band = page.locator('.rubber-band');
  await until('the band ends at the mouse', async () => Math.abs((await boxOf(band)).x - third.x - 3) < 1);
  await page.mouse.up();
  await becomes(() => selectedPaths(page), ['تقارير/101.txt', 'تقارير/102.txt']);

  await page.evaluate(() => {
    DataTransfer.prototype.setDragImage = (image, x) => {
      const isAtRight = image instanceof HTMLElement && x === image.offsetWidth;
      document.documentElement.dataset['dragImage'] = isAtRight ? 'at the right' : 'at the left';
    };
  });
  await row(page, 'تقارير/101.txt').hover();
  await page.mouse.down();
  await page.mouse.move(first.x + 20, first.y + 20, { steps: 4 });
  await page.locator('[data-drag-image="at the right"]').waitFor();
  await page.keyboard.press('Escape');
  await page.mouse.up();

  await row(page, 'تقارير/100.txt').click();
  await page.keyboard.press('ArrowLeft');
  await waitForFocus(page, 'تقارير/101.txt');
  await page.keyboard.press('Shift+F10');
  const menu = await boxOf(page.getByRole('menu'));
  assertNear(menu.x + menu.width, second.x + second.width);
  const move = page.getByRole('menuitem', { name: text.actions.moveTo });
  assert.equal(await isMirrored(move), true);
  assert.equal(await isMirrored(page.getByRole('menuitem', { name: text.actions.download })), false);
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

/** Code and JSON are from left to right, tables and text as their contents. */
async function directsTexts(page: Page): Promise<void> {
  await row(page, 'a.ts').dblclick();
  const show = async (name: string) => {
    if (name !== 'a.ts') await page.keyboard.press('ArrowLeft');
    const scroller = page.getByRole('dialog', { name }).locator('[data-scroller]');
    await scroller.waitFor();
    return scroller;
  };
  const code = await show('a.ts');
  await page.keyboard.press('w');
  const lines = code.locator('.line');
  assertNear(await startOfText(lines.nth(0)), await startOfText(lines.nth(1)));
  await page.keyboard.press('w');

  const json = await show('b.json');
  assert.equal(await directionOf(json), 'ltr');

  const table = await show('c.csv');
  assert.equal(await directionOf(table.getByText('علي')), 'ltr');
  assert.ok((await boxOf(table.getByText('name'))).x < (await boxOf(table.getByText('age'))).x);

  const markdown = await show('d.md');
  const article = await boxOf(markdown.getByRole('article'));
  const end = article.x + article.width;
  assertNear(await endOfText(markdown.getByText('فقرة عربية.')), end);
  assert.equal(await directionOf(markdown.getByRole('blockquote')), 'rtl');
  const items = markdown.getByRole('listitem');
  assertNear(await startOfText(items.nth(0)), await startOfText(items.nth(1)));

  const prose = (await show('e.txt')).locator('.line');
  assert.ok((await startOfText(prose.nth(1))) < (await startOfText(prose.nth(0))));
}

async function fillsTray(page: Page): Promise<void> {
  await throttleUploads(page, 100_000);
  const upload = page.getByRole('button', { name: text.shell.upload, exact: true });
  const chooser = await openFileChooser(page, () => upload.first().click());
  await chooser.setFiles([testFile('latin.bin', Buffer.alloc(1_000_000))]);
  const tray = page.getByRole('region', { name: text.uploads.title });
  const bar = tray.locator('.upload-row .progress-bar');
  const part = await until('a part was sent', async () => {
    const box = await boxOf(bar.locator('div'));
    return box.width > 0 ? box : undefined;
  });
  assertNear(part.x + part.width, await endOf(bar));
  assertNear(await endOfText(tray.locator('.upload-row .name')), await endOf(bar));
  await tray.getByRole('button', { name: text.uploads.cancelAll }).click();
}

test('A folder comes back from the trash on a phone in Arabic, whose labels fit', async (t) => {
  const { page, site } = await openSite(t, {
    files: FILES,
    settings: { TRASH_DAYS: '30' },
    visit: { ...PHONE, language: 'ar' },
  });
  await longPress(page, 'تقارير/');
  const moveToTrash = button(toolbar(page), text.actions.moveToTrash);
  await moveToTrash.waitFor();
  // Otherwise it looks like "Move to…", which is beside it.
  const cut = toolbar(page)
    .locator('.tool span')
    .evaluateAll((labels) =>
      labels.filter((label) => label.scrollWidth > label.clientWidth).map((label) => label.textContent),
    );
  assert.deepEqual(await cut, []);
  await moveToTrash.tap();
  await until('the folder is deleted', async () => !(await site.exists('تقارير/')));
  await button(page.getByRole('region', { name: text.messages.label }), text.controls.dismiss)
    .first()
    .tap();
  await button(toolbar(page), text.controls.more).tap();
  await page.getByRole('menuitem', { name: text.actions.trash }).tap();
  const item = page.locator('[data-id]').filter({ hasText: 'تقارير' });
  await item.waitFor();
  const [name, more] = await Promise.all([boxOf(item.locator('.entry-name')), boxOf(item.locator('[data-more]'))]);
  assert.ok(name.x > more.x, 'The menu is at the left.');
  await waitForNoOverflow(page);
  await item.tap();
  await button(toolbar(page), text.trash.restore).tap();
  await until('the folder is restored', () => site.exists('تقارير/2026 Budget/x.txt'));
  await page.getByText(text.trash.showInFolder).waitFor();
});

test('On a phone in Arabic, the viewer has the next file at the left, for buttons, keys and swipes', async (t) => {
  const files = Object.fromEntries(
    await Promise.all([1, 2].map(async (seed) => [`Album/${seed}.jpg`, await photo(seed)] as const)),
  );
  const { page } = await openSite(t, { files, folder: 'Album/', visit: { ...PHONE, language: 'ar' } });
  const viewer = (name: string) => page.getByRole('dialog', { name });
  await row(page, 'Album/1.jpg').tap();
  await viewer('1.jpg').waitFor();
  const [previous, next] = [text.previews.previous, text.previews.next].map((name) =>
    page.getByRole('button', { name }),
  );
  assert.ok(previous && next);
  assert.ok((await boxOf(next)).x < (await boxOf(previous)).x);
  assert.deepEqual(await Promise.all([isMirrored(previous), isMirrored(next)]), [true, true]);
  assert.equal(await next.getAttribute('title'), `${text.previews.next} (←)`);
  await page.keyboard.press('ArrowLeft');
  await viewer('2.jpg').waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer('1.jpg').waitFor();
  await swipe(page, [80, 350], [300, 340]);
  await viewer('2.jpg').waitFor();
  await swipe(page, [300, 350], [80, 360]);
  await viewer('1.jpg').waitFor();

  await page.keyboard.press('+');
  const percentage = await boxOf(page.locator('.image-preview output'));
  const middle = (await boxOf(page.locator('.image-preview'))).width / 2;
  assert.ok(Math.abs(percentage.x + percentage.width / 2 - middle) < 1.5, `${percentage.x} is not in the middle`);
});

test('The path, the keys of the toolbar and menus are mirrored in a page that becomes right-to-left', async (t) => {
  const { page } = await openSite(t, { files: DEEP_FILES, folder: DEEP_FOLDER });
  await page.evaluate(() => {
    document.documentElement.dir = 'rtl';
  });
  const root = await boxOf(page.getByRole('link', { name: 'Files' }));
  assert.ok(root.x > (await boxOf(title(page))).x);
  await waitForNoOverflow(page);
  await button(toolbar(page), 'New folder').focus();
  await page.keyboard.press('ArrowLeft');
  await becomes(() => focusedName(page), 'Upload');
  await button(page, 'Settings').click();
  const menu = await boxOf(page.getByRole('menu'));
  assert.ok(menu.x >= 0, JSON.stringify(menu));
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
});

const directionOf = (element: Locator) => element.evaluate((node) => getComputedStyle(node).direction);

/** Returns the right edge of an element. */
async function endOf(element: Locator): Promise<number> {
  const { x, width } = await boxOf(element);
  return x + width;
}

/** Returns the left edge of the text in an element. */
const startOfText = (element: Locator) => textBox(element).then(({ left }) => left);
const endOfText = (element: Locator) => textBox(element).then(({ right }) => right);

function textBox(element: Locator): Promise<{ left: number; right: number }> {
  return element.evaluate((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    const { left, right } = range.getBoundingClientRect();
    return { left, right };
  });
}

const assertNear = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1.5, `${actual} is not ${expected}`);
