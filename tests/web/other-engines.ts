import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
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
      'Photos/sea.jpg': await photo(1, { width: 300, height: 200 }),
    },
  });
  await fillFolder(site, 'many', 3_000);
  const engine = await launch();
  atEnd(t, () => engine[Symbol.asyncDispose]());
  await engine.resize(1200, 800);
  await openFolder(engine, site, '');
  await usePreviews(engine);
  await useChanges(t, engine, site);
  await useTallList(engine, site);
  assert.deepEqual([await engine.evaluate('globalThis.problems'), engine.errors], [[], []]);
}

/** Opens a folder in a new document, and collects the problems of the page. */
async function openFolder(engine: Engine, site: Site, path: string): Promise<void> {
  await engine.open(site.url + path);
  await engine.evaluate(`
    (globalThis.problems = [],
    addEventListener('error', (event) => problems.push(String(event.message))),
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
const waitForElementFocus = (path: string) => `document.activeElement?.dataset.path === '${path}'`;

/** Waits until an expression is true in the page. */
function isTrue(engine: Engine, expression: string): Promise<boolean> {
  return until(`${expression} is true`, async () => (await engine.evaluate(expression)) === true, 10);
}
