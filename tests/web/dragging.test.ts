import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { boxOf, button, row, toolbar } from './elements.ts';
import { openSite } from './open-site.ts';
import type { Site } from './site.ts';
import {
  dragPaths,
  dragUntil,
  dropPaths,
  keepFoldersClosed,
  localFolder,
  pasteFile,
  storedText,
  testFile,
  waitWhileRepeating,
} from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = { 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c', 'box/': '', 'box/inner/': '', 'other/x.txt': 'x' };

const hint = (page: Page) => page.locator('.drop-hint');
const name = (page: Page, path: string) => row(page, path).locator('.entry-name').first();
const crumb = (page: Page, label: string) =>
  page.getByRole('navigation').getByRole('link', { name: label, exact: true });

/** Waits until the hint has a text. As browsers do, repeats the last event of the drag while the mouse rests. */
const waitForHint = async (page: Page, text: RegExp, over: Locator) => {
  const { x, y, width, height } = await boxOf(over);
  const repeat = () => page.mouse.move(x + Math.min(width / 2, 60), y + height / 2);
  await waitWhileRepeating(hint(page).getByText(text), repeat);
};

/** Drags an entry over each of the elements, one after the other, and does not drop it. */
async function drag(page: Page, from: Locator, ...over: readonly Locator[]): Promise<void> {
  await from.hover();
  await page.mouse.down();
  for (const element of over) await moveTo(page, element);
}

async function moveTo(page: Page, element: Locator): Promise<void> {
  const box = await boxOf(element);
  await page.mouse.move(box.x + Math.min(box.width / 2, 60), box.y + box.height / 2, { steps: 4 });
}

/** Returns for each event whether the page prevents the default, with which the browser would show the file. */
function isPrevented(element: Element): Record<string, boolean> {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(['<title>Elsewhere</title>'], 'f.html'));
  const happen = (type: string) => {
    const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
    element.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return { dragover: happen('dragover'), drop: happen('drop') };
}

/** All files after the second drag. */
const COPIED = ['b.txt', 'box/a.txt', 'box/b.txt', 'box/c.txt', 'c.txt', 'other/x.txt'];

test('Dragged entries are moved or copied into folders and breadcrumbs, and files of other programs uploaded, unless cancelled', async (t) => {
  const { site, page } = await openSite(t, { files: FILES });
  const types = await typesOfDrag(page);
  // The mouse drags on a touch device too. Touch does not drag.
  await page.addInitScript(() => {
    const real = window.matchMedia.bind(window);
    window.matchMedia = (query) => real(query === '(pointer: fine)' ? 'not all' : query);
  });
  await page.reload();
  await page.locator('html[data-listing="complete"]').waitFor();
  await ignoresDragsOfOtherWindows(site, page, types);
  await forgetsRemovedRows(page);
  const letFoldersOpen = await keepFoldersClosed(page);
  await cancelsDrags(site, page);
  await movesAndCopies(site, page);
  await letFoldersOpen();
  await opensFoldersBelow(site, page);

  const local = await localFolder(t, { 'f.txt': 'f' });
  const files = [join(local, 'f.txt')];
  await crumb(page, 'Files').click();
  await row(page, 'other/').dblclick();
  await row(page, 'other/x.txt').waitFor();
  await uploadsFiles(t, site, page, files);
  await rejectsFiles(site, page, files);
});

async function cancelsDrags(site: Site, page: Page): Promise<void> {
  const isPreventedByTouch = await name(page, 'b.txt').evaluate((element) => {
    element.dispatchEvent(new PointerEvent('pointerdown', { pointerType: 'touch', pointerId: 7, bubbles: true }));
    const start = new DragEvent('dragstart', { dataTransfer: new DataTransfer(), bubbles: true, cancelable: true });
    element.dispatchEvent(start);
    element.dispatchEvent(new PointerEvent('pointerup', { pointerType: 'touch', pointerId: 7, bubbles: true }));
    return start.defaultPrevented;
  });
  assert.ok(isPreventedByTouch);

  const before = await site.paths();
  await drag(page, name(page, 'box/'), row(page, 'box/'), row(page, 'a.txt'));
  // The first drag loads the code of the hint.
  await until('the code of the hint is loaded', () =>
    page.evaluate(() => performance.getEntriesByType('resource').some((asset) => asset.name.includes('drop-hint'))),
  );
  assert.equal(await hint(page).count(), 0);
  await page.mouse.up();
  await drag(page, name(page, 'a.txt'), row(page, 'box/'));
  await waitForHint(page, /Move 1 item to .*box/, row(page, 'box/'));
  await page.keyboard.press('Escape');
  await hint(page).waitFor({ state: 'detached' });
  await page.mouse.up();
  assert.deepEqual(await site.paths(), before);
}

async function movesAndCopies(site: Site, page: Page): Promise<void> {
  await drag(page, name(page, 'a.txt'), row(page, 'box/'));
  await waitForHint(page, /Move 1 item to .*box/, row(page, 'box/'));
  await page.mouse.up();
  await until('the file is in the folder', () => site.exists('box/a.txt'));
  await until('the source is gone', async () => !(await site.exists('a.txt')));
  await row(page, 'a.txt').waitFor({ state: 'detached' });
  await hint(page).waitFor({ state: 'detached' });

  await name(page, 'b.txt').click();
  await name(page, 'c.txt').click({ modifiers: ['Control'] });
  await drag(page, name(page, 'c.txt'));
  await page.keyboard.down('Control');
  await moveTo(page, row(page, 'box/'));
  await waitForHint(page, /Copy 2 items to .*box/, row(page, 'box/'));
  await page.mouse.up();
  await page.keyboard.up('Control');
  await until(
    'both files are copied',
    async () => (await site.exists('box/b.txt')) && (await site.exists('box/c.txt')),
  );
  assert.deepEqual(await site.paths(), COPIED);
}

/** A folder below the pointer opens. When the drag is cancelled, the page returns from it. */
async function opensFoldersBelow(site: Site, page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await drag(page, name(page, 'b.txt'), row(page, 'box/'));
  await row(page, 'box/inner/').waitFor();
  await page.keyboard.press('Escape');
  await row(page, 'b.txt').waitFor();
  await page.mouse.up();
  assert.equal(page.url(), site.url);
  assert.deepEqual(await site.paths(), COPIED);

  await drag(page, name(page, 'b.txt'), row(page, 'box/'));
  await row(page, 'box/inner/').waitFor();
  await keepFoldersClosed(page);
  await moveTo(page, row(page, 'box/inner/'));
  await waitForHint(page, /Move 1 item to .*inner/, row(page, 'box/inner/'));
  await page.mouse.up();
  await until('the file is in the inner folder', () => site.exists('box/inner/b.txt'));
  await until('the source is gone', async () => !(await site.exists('b.txt')));

  await drag(page, name(page, 'box/a.txt'), crumb(page, 'Files'));
  await waitForHint(page, /Move 1 item to .*Files/, crumb(page, 'Files'));
  await page.mouse.up();
  await until('the file is in the root', () => site.exists('a.txt'));
  assert.equal(await storedText(site, 'a.txt'), 'a');
}

/** Returns the types of the data of a drag, by which a window recognizes its own. The code of drags loads after the page. */
function typesOfDrag(page: Page): Promise<string[]> {
  return until('entries can be dragged', async () => {
    const types = await row(page, 'b.txt').evaluate((element) => {
      const dataTransfer = new DataTransfer();
      const source = element.closest('[data-drag-path]') ?? element.querySelector('[data-drag-path]');
      source?.dispatchEvent(new DragEvent('dragstart', { dataTransfer, bubbles: true }));
      return [...dataTransfer.types];
    });
    return types.some((type) => type.startsWith('application/x-holdall')) && types;
  });
}

/** The drag of this window is forgotten when another one drags. */
async function ignoresDragsOfOtherWindows(site: Site, page: Page, types: readonly string[]): Promise<void> {
  await row(page, 'a.txt').evaluate((element) => {
    const source = element.closest('[data-drag-path]') ?? element.querySelector('[data-drag-path]');
    source?.dispatchEvent(new DragEvent('dragstart', { dataTransfer: new DataTransfer(), bubbles: true }));
  });
  await row(page, 'box/').evaluate((element, all) => {
    const dataTransfer = new DataTransfer();
    for (const type of all) dataTransfer.setData(type, '');
    const init = { dataTransfer, bubbles: true, cancelable: true };
    element.dispatchEvent(new DragEvent('dragover', init));
    element.dispatchEvent(new DragEvent('drop', init));
  }, types);
  await name(page, 'a.txt').click();
  assert.deepEqual(
    await site.paths(),
    Object.keys(FILES).filter((path) => !path.endsWith('/')),
  );
}

/** A drag is forgotten when it ends after its row was removed. */
async function forgetsRemovedRows(page: Page): Promise<void> {
  await row(page, 'a.txt').evaluate((element) => {
    const source = element.closest('[data-drag-path]') ?? element.querySelector('[data-drag-path]');
    const dataTransfer = new DataTransfer();
    source?.dispatchEvent(new DragEvent('dragstart', { dataTransfer, bubbles: true }));
    Object.assign(window, { dragged: { source, dataTransfer } });
  });
  await row(page, 'other/').dblclick();
  await row(page, 'a.txt').waitFor({ state: 'detached' });
  const isHintShown = await page.evaluate(async () => {
    const { source, dataTransfer } = (window as unknown as { dragged: { source: Element; dataTransfer: DataTransfer } })
      .dragged;
    source.dispatchEvent(new DragEvent('dragend', { bubbles: true }));
    const over = new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true });
    document.querySelector('[data-drop-folder="other/"]')?.dispatchEvent(over);
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
    return document.querySelector('.drop-hint') !== null;
  });
  assert.equal(isHintShown, false);
  await page.goBack();
  await row(page, 'a.txt').waitFor();
}

/** Files are uploaded wherever they are dropped. */
async function uploadsFiles(t: TestContext, site: Site, page: Page, files: readonly string[]): Promise<void> {
  const url = page.url();
  const list = page.locator('[data-region="list"]');
  await dragUntil(page, list, { files, shown: hint(page).getByText(/Upload to .*other/) });
  const shown = hint(page).getByText(/Upload to .*Files/);
  await dragUntil(page, crumb(page, 'Files'), { files, types: ['dragOver'], shown });
  await dragPaths(page, list, files, ['dragCancel']);
  await hint(page).waitFor({ state: 'detached' });
  // On a slow machine, the folder below the pointer has opened. The page has returned from it.
  await row(page, 'other/x.txt').waitFor();

  // Without the page's handler, a field would accept the drop.
  const targets = ['[type="search"]', '.tray'];
  for (const [index, selector] of targets.entries()) {
    const file = `${index}.html`;
    const folder = await localFolder(t, { [file]: '<title>Elsewhere</title>' });
    await dropPaths(page, page.locator(selector).first(), [join(folder, file)]);
    await until('the file is stored', () => site.exists(`other/${file}`));
  }
  assert.deepEqual(await page.locator('header').first().evaluate(isPrevented), { dragover: true, drop: true });
  assert.equal(page.url(), url);

  // Some programs offer files without paths.
  await page.locator('[data-region="list"]').evaluate((element) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['from mail'], 'attached.txt'));
    for (const type of ['dragenter', 'dragover', 'drop']) {
      element.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
    }
  });
  await until('the attachment is stored', () => site.exists('other/attached.txt'));
  assert.equal(await storedText(site, 'other/attached.txt'), 'from mail');
}

/** A dialog and a preview reject files with a message. */
async function rejectsFiles(site: Site, page: Page, files: readonly string[]): Promise<void> {
  const dialog = page.getByRole('dialog');
  const before = await site.paths();
  const words = 'Close the dialog';
  await page.keyboard.press('Alt+n');
  await dialog.waitFor();
  await dragUntil(page, dialog, { files, shown: hint(page).getByText(words) });
  await dragPaths(page, dialog, files, ['drop']);
  await page.locator('.message').getByText(words).waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await row(page, 'other/attached.txt').dblclick();
  await dialog.waitFor();
  await dragUntil(page, dialog, { files, shown: hint(page).getByText(words) });
  await dragPaths(page, dialog, files, ['drop']);
  await dialog.locator('.message').getByText(words).nth(1).waitFor();
  assert.deepEqual(await site.paths(), before);
}

test('A read-only service rejects files with a message, and its toolbar offers no changes', async (t) => {
  const { site, page } = await openSite(t, { files: FILES, settings: { READ_ONLY: 'true' } });
  await page.getByText('Read-only', { exact: true }).waitFor();
  assert.equal(await button(page, 'New folder').count(), 0);
  await row(page, 'a.txt').click();
  await button(toolbar(page), 'Download').waitFor();
  assert.equal(await button(toolbar(page), 'Delete').count(), 0);

  const before = await site.paths();
  const local = await localFolder(t, { 'f.txt': 'f' });
  const list = page.locator('[data-region="list"]');
  await dragUntil(page, list, { files: [join(local, 'f.txt')], shown: hint(page).getByText('read-only') });
  await dragPaths(page, list, [join(local, 'f.txt')], ['drop']);
  await page.locator('.message').getByText('read-only').waitFor();
  await pasteFile(page, testFile('p.txt', 'p'));
  await page.getByText('These files are read-only').first().waitFor();
  assert.deepEqual(await site.paths(), before);
  assert.deepEqual(
    site.log().filter(({ method }) => method === 'POST'),
    [],
  );
});
