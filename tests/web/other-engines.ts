import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import sharp from 'sharp';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { entryName } from '../../testing/many-files.ts';
import type { Engine } from '../../testing/servers/engine.ts';
import { until } from '../../testing/until.ts';
import { photo } from './samples.ts';
import { fillFolder, type Site, startSite } from './site.ts';

/** Uses the main parts of the web UI in a browser, and fails if the page has errors or violates its policy. */
export async function useEngine(t: TestContext, launch: () => Promise<Engine>): Promise<void> {
  const site = await startSite(t, {
    store: 'disk',
    files: {
      'one.txt': 'the text of one',
      'two.txt': '2',
      'lines.txt': 'one\ntwo\nthree\n',
      'Photos/sea.jpg': await photo(1, { width: 300, height: 200 }),
      ...(await album()),
    },
  });
  await fillFolder(site, 'many', 3_000);
  const engine = await launch();
  atEnd(t, () => engine[Symbol.asyncDispose]());
  await engine.resize(1200, 800);
  await openFolder(engine, site, '');
  await usePreviews(engine);
  await useChanges(t, engine, site);
  await useQuickActions(engine, site);
  await useEditor(engine, site);
  await usePhotos(engine, site);
  await useTallList(engine, site);
  assert.deepEqual([await engine.evaluate('globalThis.problems'), engine.errors], [[], []]);
}

/** What WebKit reports when a size changes while it reports sizes: it reports the rest in the next frame. */
const DELAYED_SIZES = 'ResizeObserver loop completed with undelivered notifications.';

/** Opens a folder in a new document, and collects the problems of the page. */
async function openFolder(engine: Engine, site: Site, path: string): Promise<void> {
  await engine.open(site.url + path);
  await engine.evaluate(`
    (globalThis.problems = [],
    addEventListener('error', ({ message }) => message === ${JSON.stringify(DELAYED_SIZES)} || problems.push(String(message))),
    addEventListener('unhandledrejection', (event) => problems.push(String(event.reason))),
    addEventListener('securitypolicyviolation', (event) => problems.push(event.violatedDirective + ' ' + event.blockedURI)),
    true)`);
  await isTrue(engine, `document.documentElement.dataset.listing === 'complete'`);
}

/** Opens folders and previews by the mouse and by the keyboard. */
async function usePreviews(engine: Engine): Promise<void> {
  await engine.click('[data-path="one.txt"]');
  await isTrue(engine, `${rowOf('one.txt')}?.ariaSelected === 'true'`);
  await engine.press('Enter');
  await isTrue(engine, `document.querySelector('dialog.viewer')?.textContent.includes('the text of one')`);
  await engine.press('Escape');
  await isTrue(engine, `!document.querySelector('dialog.viewer') && ${waitForElementFocus('one.txt')}`);

  await engine.press('Home');
  await engine.type('ph');
  await isTrue(engine, waitForElementFocus('Photos/'));
  await engine.press('Enter');
  await isTrue(engine, waitForElementFocus('Photos/sea.jpg'));
  await isTrue(engine, `${rowOf('Photos/sea.jpg')}.querySelector('img')?.naturalWidth > 0`);
  await engine.press('Enter');
  await isTrue(engine, `document.querySelector('dialog.viewer img')?.naturalWidth === 300`);
  await engine.press('Escape');
  await isTrue(engine, `!document.querySelector('dialog.viewer')`);
  await engine.press('Alt+ArrowUp');
  await isTrue(engine, waitForElementFocus('Photos/'));
}

/** Uploads a file, renames it, and deletes it. */
async function useChanges(t: TestContext, engine: Engine, site: Site): Promise<void> {
  const file = join(await temporaryFolder(t), 'new.txt');
  await writeFile(file, 'uploaded');
  // The dialog of the browser would wait for a person.
  await engine.evaluate(`(HTMLInputElement.prototype.click = () => {}, true)`);
  await engine.press('Alt+u');
  await isTrue(engine, `document.querySelector('input[type="file"]') !== null`);
  await engine.chooseFiles([file]);
  await isTrue(engine, `${rowOf('new.txt')} !== null`);
  await until('the file is stored', () => site.exists('new.txt'));
  assert.equal(String(await site.read('new.txt')), 'uploaded');

  await engine.click('[data-path="new.txt"]');
  await engine.press('F2');
  await isTrue(engine, `document.activeElement.matches('.name-field input')`);
  await engine.type('newer');
  await engine.press('Enter');
  await until('the file is renamed', () => site.exists('newer.txt'));
  await isTrue(engine, waitForElementFocus('newer.txt'));

  await cancelDeletion(engine);
  await isTrue(engine, waitForElementFocus('newer.txt'));
  await engine.press('Delete');
  await isTrue(engine, `document.querySelector('dialog .danger') !== null`);
  await engine.click('dialog .danger');
  await until('the file is deleted', async () => !(await site.exists('newer.txt')));
  await isTrue(engine, `${rowOf('newer.txt')} === null && ${rowOf('two.txt')} !== null`);
}

/** Opens the dialog for deletion, and cancels it while a stylesheet loads, because WebKit then does not return the focus. */
async function cancelDeletion(engine: Engine): Promise<void> {
  await engine.press('Delete');
  await isTrue(engine, `document.querySelector('dialog .danger') !== null`);
  await engine.evaluate(`(() => {
    const link = document.querySelector('link[rel="stylesheet"]').cloneNode();
    link.href += '?again';
    link.onload = () => link.remove();
    document.head.append(link);
    document.querySelector('dialog footer button:not(.danger)').click();
  })()`);
  await isTrue(engine, `document.querySelector('dialog') === null`);
}

/** Finds a folder by the palette, opens one of the tree, chooses a column, and renames two files by a pattern. */
async function useQuickActions(engine: Engine, site: Site): Promise<void> {
  await engine.press('Control+k');
  await isTrue(engine, `document.activeElement.matches('.palette input')`);
  await engine.type('albu');
  await isTrue(engine, isVisible('.palette [role="option"] mark'));
  await engine.press('Enter');
  await isTrue(engine, `location.pathname === '/Album/'`);
  await engine.click('.tree [data-drop-folder="Photos/"] .truncated-name');
  await isTrue(engine, `location.pathname === '/Photos/' && ${rowOf('Photos/sea.jpg')} !== null`);

  await openFolder(engine, site, '');
  const types = `document.querySelectorAll('[role="columnheader"]').length`;
  const before = Number(await engine.evaluate(types));
  await engine.click('[aria-label="Columns"]');
  await engine.click('[role="menu"] [role="menuitemcheckbox"]');
  await isTrue(engine, `${types} === ${before - 1}`);
  await engine.press('Escape');

  await engine.click('[data-path="one.txt"]');
  await engine.press('Shift+ArrowDown', 'F2');
  await isTrue(engine, `document.activeElement.matches('.rename-several input')`);
  await engine.type('t');
  await engine.click('.rename-several .fields:nth-of-type(2) input');
  await engine.type('T');
  await isTrue(engine, isVisible('.rename-several tbody tr:not(.same)'));
  await engine.press('Enter');
  await until('the file is renamed', () => site.exists('Two.txt'));
}

/** Edits a text that another program changes meanwhile, and merges both versions. */
async function useEditor(engine: Engine, site: Site): Promise<void> {
  await engine.click('[data-path="lines.txt"]');
  await engine.press('Alt+Shift+e');
  await isTrue(engine, `document.activeElement.shadowRoot?.activeElement?.role === 'textbox'`);
  await engine.type('my ');
  await site.place({ 'lines.txt': 'one\ntwo\nTHREE\n' });
  await engine.press('Control+s');
  await isTrue(engine, `document.activeElement.matches('dialog.question .primary')`);
  await engine.press('Enter');
  await isTrue(engine, `document.querySelector('dialog').textContent.includes('Both versions were merged')`);
  await engine.press('Control+s');
  await until('both versions are saved', async () => String(await site.read('lines.txt')) === 'my one\ntwo\nTHREE\n');
}

/** Shows a photo in the quick look, in the viewer and on the whole screen, and rotates it. */
async function usePhotos(engine: Engine, site: Site): Promise<void> {
  await openFolder(engine, site, 'Album/');
  await isTrue(engine, `document.querySelectorAll('.photo .thumbnail.loaded').length === 8`);
  await engine.click('[data-path="Album/large.jpg"]');
  await engine.press(' ');
  await isTrue(engine, isVisible('.quick-look canvas.loaded'));
  await engine.press(' ');
  await isTrue(engine, `document.querySelector('.quick-look') === null`);
  await engine.press('Enter');
  const picture = `document.querySelector('.viewer canvas.loaded')`;
  await isTrue(engine, `${picture}?.width === 1600`);
  await engine.press('f');
  await isTrue(engine, `document.fullscreenElement !== null && ${isVisible('.viewer canvas.loaded')}`);
  await engine.press('f');
  await isTrue(
    engine,
    `document.fullscreenElement === null && ${isVisible('.viewer .filmstrip [aria-current="true"]')}`,
  );
  await engine.press('r');
  const isTurned = async () => (await sharp(await site.read('Album/large.jpg')).metadata()).orientation === 6;
  await until('the photo is rotated', isTurned);
  await isTrue(engine, `${picture}?.width < ${picture}?.height`);
  await engine.press('Escape');
  await isTrue(engine, `!document.querySelector('dialog.viewer') && ${waitForElementFocus('Album/large.jpg')}`);
}

/** Returns photos, one of them large enough for a preview. */
async function album(): Promise<Record<string, Uint8Array>> {
  const small = await photo(2, { width: 60, height: 40 });
  const noise = { type: 'gaussian', mean: 128, sigma: 30 } as const;
  const large = sharp({ create: { width: 1800, height: 1200, channels: 3, background: '#000', noise } });
  const files = Array.from({ length: 7 }, (_, index) => [`Album/${index}.jpg`, small] as const);
  return { ...Object.fromEntries(files), 'Album/large.jpg': await large.jpeg().toBuffer() };
}

/** Reads a list to its end whose rows are taller together than an element can be in the browser: 38,400,000 pixels. */
async function useTallList(engine: Engine, site: Site): Promise<void> {
  await openFolder(engine, site, 'many/');
  const [first, last] = [1, 3_000].map((position) => `many/${entryName(position)}`) as [string, string];
  await engine.evaluate(`(document.documentElement.style.setProperty('--row', '800rem'), true)`);
  // A narrow list has no header, which is as tall as a row.
  await engine.resize(600, 800);
  await isTrue(engine, `${rowOf(first)}.offsetHeight === 12800`);
  await engine.click(`[data-path="${first}"]`);
  await engine.press('End');
  await isTrue(engine, waitForElementFocus(last));
  const listTop = `document.querySelector('.folder-view [data-scroller]').getBoundingClientRect().top`;
  await isTrue(engine, `Math.abs(${rowOf(last)}.getBoundingClientRect().top - ${listTop}) < 2`);
}

const rowOf = (path: string) => `document.querySelector('[data-path="${path}"]')`;
/** Returns an expression: whether an element is in front of all others at its centre. */
const isVisible = (selector: string) => `(() => {
  const element = document.querySelector(${JSON.stringify(selector)});
  const { x, y, width, height } = element?.getBoundingClientRect() ?? {};
  return !!element && element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
})()`;
const waitForElementFocus = (path: string) => `document.activeElement?.dataset.path === '${path}'`;

/** Waits until an expression is true in the page. */
function isTrue(engine: Engine, expression: string): Promise<boolean> {
  return until(`${expression} is true`, async () => (await engine.evaluate(expression)) === true);
}
