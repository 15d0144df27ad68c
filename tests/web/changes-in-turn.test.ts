import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Route } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { FILES, visit } from './changing.ts';
import { row, said, selectedText, waitForFocus } from './elements.ts';
import { hold, refuse } from './intercept.ts';

export const needs: readonly Need[] = ['browser'];

/** Has the service do what it is asked for, and loses its answer. */
async function loseAnswer(route: Route): Promise<void> {
  await route.fetch();
  await route.abort();
}

test('What was to be deleted by a name that a rename did not give stays, and that is said', async (t) => {
  const { page, site } = await visit(t, { 'draft.md': 'mine', 'a.txt': '' }, { expectedErrors: [/409/] });
  const release = await hold(page, '**/rename/**');
  await site.place({ 'notes.md': 'somebody else’s' });
  await row(page, 'draft.md').click();
  await page.keyboard.press('F2');
  await page.keyboard.type('notes');
  await page.keyboard.press('Enter');
  await waitForFocus(page, 'notes.md');
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete file' }).click();
  await row(page, 'notes.md').waitFor({ state: 'detached' });
  release();
  await said(page, '“⁨notes.md⁩” could not be deleted');
  await said(page, 'An earlier change, which this one builds on, did not work.');
  assert.deepEqual(await site.paths(), ['a.txt', 'draft.md', 'notes.md']);
  assert.equal((await site.read('notes.md')).toString(), 'somebody else’s');
  await row(page, 'draft.md').waitFor();
});

test('Replacing the other files as well replaces no folder unasked', async (t) => {
  const taken = { 'to/a.txt': 'old', 'to/b.txt': 'old', 'to/photos/precious.jpg': 'precious' };
  const files = { 'a.txt': 'new', 'b.txt': 'new', 'photos/cat.jpg': 'cat', ...taken };
  const { page, site } = await visit(t, files, { expectedErrors: [/409/] });
  const question = page.getByRole('dialog', { name: 'is already in “⁨to⁩”' });
  // The files are asked about first.
  await page.route('**/copy', async (route) => {
    if (route.request().postData()?.includes('photos')) await question.waitFor();
    await route.continue();
  });
  await page.keyboard.press('Control+a');
  await row(page, 'to/').click({ modifiers: ['Control'] });
  await page.keyboard.press('Control+c');
  await row(page, 'to/').dblclick();
  await row(page, 'to/a.txt').waitFor();
  await page.keyboard.press('Control+v');
  await question.getByRole('checkbox').check();
  await question.getByRole('button', { name: 'Replace' }).click();
  await page.getByRole('dialog', { name: 'photos' }).getByRole('button', { name: 'Skip' }).click();
  await said(page, '2 files copied to “⁨to⁩”');
  assert.equal((await site.read('to/a.txt')).toString(), 'new');
  assert.equal((await site.read('to/b.txt')).toString(), 'new');
  assert.ok(await site.exists('to/photos/precious.jpg'));
  assert.equal(await site.exists('to/photos/cat.jpg'), false);
});

test('Nothing is put into a folder that is not there', async (t) => {
  const { page, site } = await visit(t, FILES, { expectedErrors: [/404/] });
  await row(page, 'cat.txt').click();
  await page.keyboard.press('Control+x');
  await rm(join(site.root ?? '', 'photos'), { recursive: true });
  await row(page, 'photos/').dblclick();
  await page.getByText('There is no such folder.').first().waitFor();
  await page.keyboard.press('Control+v');
  assert.equal(await page.locator('[data-drop-folder="photos/"]').count(), 0);
  await page.goBack();
  await row(page, 'report.pdf').waitFor();
  // What was cut still is: the folder that is there takes it.
  await page.keyboard.press('Control+v');
  await said(page, '“⁨cat.txt⁩” is in “⁨Files⁩” already');
  assert.equal(await site.exists('photos/'), false);
  assert.ok(await site.exists('cat.txt'));
});

test('A name that was being edited when one went elsewhere is forgotten', async (t) => {
  const { page, site } = await visit(t, FILES);
  const field = page.getByRole('textbox', { name: 'New name of' });
  await row(page, 'photos/').dblclick();
  await row(page, 'photos/cat.txt').click();
  await page.keyboard.press('F2');
  await field.fill('half');
  await page.goBack();
  await row(page, 'report.pdf').waitFor();
  await row(page, 'photos/').dblclick();
  await row(page, 'photos/cat.txt').click();
  await page.keyboard.press('F2');
  await becomes(() => field.inputValue(), 'cat.txt');
  await becomes(() => selectedText(field), 'cat');
  await page.keyboard.press('Escape');
  assert.ok(await site.exists('photos/cat.txt'));
});

for (const kind of ['copy', 'move'] as const) {
  test(`A ${kind} whose answer was lost is found done when it is tried again`, async (t) => {
    // Whether what was moved is gone is asked for, too.
    const expectedErrors = kind === 'copy' ? [/net::ERR/] : [/net::ERR/, /404/];
    const { page, site } = await visit(t, FILES, { expectedErrors });
    await page.route(`**/${kind}`, loseAnswer, { times: 1 });
    await row(page, 'report.pdf').click();
    await page.keyboard.press(kind === 'copy' ? 'Control+c' : 'Control+x');
    await row(page, 'photos/').dblclick();
    await row(page, 'photos/cat.txt').waitFor();
    await page.keyboard.press('Control+v');
    await page.getByRole('button', { name: 'Retry' }).click();
    await said(page, `“⁨report.pdf⁩” ${kind === 'copy' ? 'copied' : 'moved'} to “⁨photos⁩”`);
    await row(page, 'photos/report.pdf').waitFor();
    const left = kind === 'copy' ? ['report.pdf'] : [];
    const there = (await site.paths()).filter((path) => path.includes('report'));
    assert.deepEqual(there, ['photos/report.pdf', ...left]);
  });
}

test('A move under another name that is cancelled too late is undone from there', async (t) => {
  const files = { 'sub/new.txt': 'new', 'to/sub/old.txt': 'old' };
  // Whether it is gone from where it was is asked for.
  const { page, site } = await visit(t, files, { expectedErrors: [/404/] });
  const isDone = Promise.withResolvers<void>();
  await page.route('**/move', async (route) => {
    if (!route.request().postData()?.includes('(2)')) return route.continue();
    await route.fetch();
    isDone.resolve();
  });
  await row(page, 'sub/').click();
  await page.keyboard.press('Control+x');
  await row(page, 'to/').dblclick();
  await row(page, 'to/sub/').waitFor();
  await page.keyboard.press('Control+v');
  await page.getByRole('button', { name: 'Keep both' }).click();
  await isDone.promise;
  await page.getByRole('button', { name: /Cancel.*sub/ }).click();
  await said(page, '“⁨sub⁩” moved to “⁨to⁩”');
  await row(page, 'to/sub (2)/').waitFor();
  await page.unroute('**/move');
  await page.getByRole('button', { name: 'Undo' }).click();
  await becomes(() => site.paths(), ['sub/new.txt', 'to/sub/old.txt']);
});

test('A file is gone where the service says so, not where something on the way knows no such address', async (t) => {
  const { page, site } = await visit(t, FILES, { expectedErrors: [/404/, /404/] });
  const remove = async () => {
    await row(page, 'cat.txt').click();
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Delete file' }).click();
  };
  await page.route('**/delete/**', (route) => route.fulfill({ status: 404, body: 'No such route' }), { times: 1 });
  await remove();
  await said(page, '“⁨cat.txt⁩” could not be deleted');
  await row(page, 'cat.txt').waitFor();
  assert.ok(await site.exists('cat.txt'));

  await page.route('**/delete/**', (route) => refuse(route, 404, 'There is no file cat.txt.'), { times: 1 });
  await remove();
  await said(page, '“⁨cat.txt⁩” deleted');
});
