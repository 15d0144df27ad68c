import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { FILES, visit } from './changing.ts';
import { row, said, selectedText, waitForFocus } from './elements.ts';
import { isListing, refuse } from './intercept.ts';
import { HOSTILE_NAMES } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

test('A new folder is named in words, shown at once, and has the focus', async (t) => {
  const { page, site } = await visit(t, FILES);
  await page.keyboard.press('Alt+n');
  const dialog = page.getByRole('dialog', { name: 'New folder' });
  const name = dialog.getByRole('textbox', { name: 'Name' });
  await name.waitFor();
  await becomes(() => selectedText(name), 'New folder');
  await assertAccessible(page, t, { state: 'the question for a new folder' });

  for (const [typed, problem] of [
    ['', 'Enter a name.'],
    ['a/b', 'A name can’t have a “/” in it.'],
    ['..', 'A name can’t be “.” or “..”.'],
    ['photos', 'This name is taken in this folder.'],
    ['é'.repeat(128), 'This name is too long.'],
  ] as const) {
    await name.fill(typed);
    await page.keyboard.press('Enter');
    await dialog.getByText(problem).waitFor();
    await becomes(() => name.getAttribute('aria-invalid'), 'true');
  }
  await name.fill('  🎉 \u202ereversed');
  await page.keyboard.press('Enter');
  await waitForFocus(page, '  🎉 \u202ereversed/');
  await becomes(() => row(page, '  🎉 \u202ereversed/').getAttribute('aria-selected'), 'true');
  assert.ok(await until('the folder is stored', () => site.exists('  🎉 \u202ereversed/')));
});

test('A new folder that the service refuses goes again, with its words', async (t) => {
  const expectedErrors = [/create_folder/];
  const { page } = await visit(t, FILES, { expectedErrors });
  await page.route('**/create_folder', (route) => refuse(route, 503, 'The disk is asleep.'));
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await said(page, 'The disk is asleep.');
  await row(page, 'New folder/').waitFor({ state: 'detached' });
});

test('A name is edited in its place, and a rename is undone', async (t) => {
  const { page, site } = await visit(t, FILES);
  await row(page, 'archive.tar.gz').click();
  await page.keyboard.press('F2');
  const field = page.getByRole('textbox', { name: 'New name of' });
  await becomes(() => selectedText(field), 'archive');
  await page.keyboard.type('zebra');
  await assertAccessible(page, t, { state: 'a name that is edited' });
  await page.keyboard.press('Enter');
  await waitForFocus(page, 'zebra.tar.gz');
  await row(page, 'archive.tar.gz').waitFor({ state: 'detached' });
  await becomes(() => row(page, 'zebra.tar.gz').getAttribute('aria-selected'), 'true');
  await until('the file has its new name', () => site.exists('zebra.tar.gz'));

  await page.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'archive.tar.gz').waitFor();
  await until('the file has its old name', () => site.exists('archive.tar.gz'));
  await until('it has no other', async () => !(await site.exists('zebra.tar.gz')));
});

test('A name that can’t be is told of at the field, Escape leaves it, and a click elsewhere commits', async (t) => {
  const { page, site } = await visit(t, FILES);
  await row(page, 'photos/').click();
  await page.getByRole('button', { name: 'Rename' }).click();
  const field = page.getByRole('textbox', { name: 'New name of' });
  await becomes(() => selectedText(field), 'photos');
  await field.fill('cat.txt');
  await page.getByText('This name is taken in this folder.').waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal(await field.inputValue(), 'cat.txt');
  await page.keyboard.press('Escape');
  await waitForFocus(page, 'photos/');

  await page.keyboard.press('F2');
  await field.fill('pictures');
  await row(page, 'cat.txt').click();
  await row(page, 'pictures/').waitFor();
  await until('the folder has its new name', () => site.exists('pictures/2026/'));
});

test('A name that was taken meanwhile opens the field again, with what was typed', async (t) => {
  const { page, site } = await visit(t, FILES, { expectedErrors: [/409/] });
  await row(page, 'cat.txt').click();
  await site.place({ 'dog.txt': 'somebody else’s' });
  await page.keyboard.press('F2');
  await page.keyboard.type('dog');
  await page.keyboard.press('Enter');
  await page.getByText('This name is taken in this folder.').waitFor();
  const field = page.getByRole('textbox', { name: 'New name of' });
  await becomes(() => field.inputValue(), 'dog.txt');
  await row(page, 'cat.txt').waitFor();
  assert.equal((await site.read('dog.txt')).toString(), 'somebody else’s');
});

test('Every hostile name can be given, copied and deleted', async (t) => {
  const { page, site } = await visit(t, { 'a.txt': 'a' });
  let path = 'a.txt';
  for (const name of HOSTILE_NAMES) {
    await row(page, path).click();
    await page.keyboard.press('F2');
    await page.getByRole('textbox', { name: 'New name of' }).fill(name);
    await page.keyboard.press('Enter');
    await waitForFocus(page, name);
    path = name;
  }
  await until('the last name is stored', () => site.exists(path));
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await until('a copy is stored', async () => (await site.paths()).length === 2);
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await until('nothing is stored', async () => (await site.paths()).length === 0);
});

test('Deleting asks by name or count, leads to the neighbour, and puts back what is refused', async (t) => {
  const { page, site } = await visit(t, FILES, { expectedErrors: [/500/] });
  await row(page, 'photos/').click();
  await page.keyboard.press('Delete');
  const dialog = page.getByRole('dialog', { name: 'Delete “⁨photos⁩” and everything in it?' });
  await dialog.getByText('The folder holds 2 items.').waitFor();
  await assertAccessible(page, t, { state: 'the question whether to delete' });
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  assert.ok(await site.exists('photos/'), 'Cancel has the focus');

  await row(page, 'file 2.txt').click();
  await row(page, 'file 10.txt').click({ modifiers: ['Control'] });
  await page.keyboard.press('Delete');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await waitForFocus(page, 'report.pdf');
  await said(page, '2 files deleted');
  assert.equal(await site.exists('file 10.txt'), false);

  await page.route('**/delete/**', (route) => refuse(route, 500, 'Something is wrong with the disk.'));
  await row(page, 'report.pdf').click();
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete file' }).click();
  await said(page, '“⁨report.pdf⁩” could not be deleted');
  await said(page, 'Something is wrong with the disk.');
  await row(page, 'report.pdf').waitFor();
});

test('Of several, those that fail come back alone', async (t) => {
  const { page, site } = await visit(t, FILES, { expectedErrors: [/500/] });
  await page.route('**/delete/file%2010.txt', (route) => refuse(route, 500, 'Not this one.'));
  await row(page, 'file 2.txt').click();
  await row(page, 'file 10.txt').click({ modifiers: ['Control'] });
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete 2 files' }).click();
  await said(page, '1 of 2 items could not be deleted');
  await row(page, 'file 10.txt').waitFor();
  assert.equal(await row(page, 'file 2.txt').count(), 0);
  assert.equal(await site.exists('file 2.txt'), false);
});

test('What was read before a change, and comes after it, does not bring back what is gone', async (t) => {
  const { page, site } = await visit(t, FILES);
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(
    isListing,
    async (route) => {
      const response = await route.fetch();
      await isReleased;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  await row(page, 'cat.txt').click();
  const asked = page.waitForRequest((request) => isListing(new URL(request.url())));
  const read = page.waitForEvent('requestfinished', (request) => isListing(new URL(request.url())));
  await page.keyboard.press('Alt+r');
  await asked;
  await site.place({ 'from elsewhere.txt': '' });
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Delete file' }).click();
  await said(page, '“⁨cat.txt⁩” deleted');
  release();
  await read;
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.equal(await row(page, 'cat.txt').count(), 0);

  await page.keyboard.press('Alt+r');
  await row(page, 'from elsewhere.txt').waitFor();
  assert.equal(await row(page, 'cat.txt').count(), 0);
});

test('A message does not cover the row with the focus, at the end of a list or on a phone', async (t) => {
  for (const width of ['desktop', 'phone'] as const) {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${100 + index}.txt`, '']));
    const { page } = await visit(t, files, { width });
    await page.keyboard.press('End');
    await waitForFocus(page, '139.txt');
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Delete file' }).click();
    await said(page, '“⁨139.txt⁩” deleted');
    await waitForFocus(page, '138.txt');
    await becomes(() => page.evaluate(isClearOfMessages), true);
  }
});

function isClearOfMessages(): boolean {
  const focused = document.activeElement?.getBoundingClientRect();
  const message = document.querySelector('.message')?.getBoundingClientRect();
  return focused !== undefined && message !== undefined && focused.bottom <= message.top && focused.top >= 0;
}
