import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { messages, row, waitForFocus, waitForMessage } from './elements.ts';
import { openSite } from './open-site.ts';
import { tray } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'report.pdf': 'report',
  'photos/cat.txt': 'cat',
  'photos/2026/': '',
  'cat.txt': 'another cat',
  'file 2.txt': 'two',
  'file 10.txt': 'ten',
  'gone/': '',
};

/** Files whose names also exist in `to/`, except `d.txt`. */
const CONFLICTS = {
  'a.txt': 'a',
  'b.txt': 'b',
  'c.txt': 'c',
  'd.txt': 'd',
  'sub/new.txt': 'new',
  'to/a.txt': 'old a',
  'to/b.txt': 'old b',
  'to/c.txt': 'old c',
  'to/sub/old.txt': 'old',
};

test('Paste copies and moves entries, asks about taken names, is undone, and explains impossible moves', async (t) => {
  const { page, site } = await openSite(t, {
    files: { ...FILES, ...CONFLICTS },
    visit: { expectedErrors: [/404/, /409/] },
  });
  await row(page, 'cat.txt').click();
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Control+v');
  await waitForFocus(page, 'cat (2).txt');
  await until('the copy is stored', () => site.exists('cat (2).txt'));
  await page.keyboard.press('Control+x');
  await page.keyboard.press('Control+v');
  await waitForMessage(page, '“⁨cat (2).txt⁩” is already in “⁨Files⁩”');
  await row(page, 'photos/').click();
  await page.keyboard.press('Control+x');
  await page.keyboard.press('Enter');
  await row(page, 'photos/2026/').waitFor();
  await page.keyboard.press('Control+v');
  await waitForMessage(page, 'Can’t move “⁨photos⁩” into itself');

  await page.goBack();
  await row(page, 'file 2.txt').click();
  await row(page, 'file 10.txt').click({ modifiers: ['Control'] });
  await page.keyboard.press('Control+x');
  await row(page, 'photos/').dblclick();
  await row(page, 'photos/2026/').waitFor();
  await page.keyboard.press('Control+v');
  await row(page, 'photos/file 10.txt').waitFor();
  await waitForMessage(page, '2 items moved to “⁨photos⁩”');
  await until(
    'both files are moved',
    async () => (await site.exists('photos/file 2.txt')) && !(await site.exists('file 2.txt')),
  );
  const moved = messages(page).getByRole('listitem').filter({ hasText: '2 items moved' });
  await moved.getByRole('button', { name: 'Undo' }).click();
  await row(page, 'photos/file 10.txt').waitFor({ state: 'detached' });
  await until(
    'both files are moved back',
    async () => (await site.exists('file 2.txt')) && (await site.exists('file 10.txt')),
  );

  // Nothing can be pasted into a missing folder, and the cut file stays on the clipboard.
  await page.goBack();
  await row(page, 'cat.txt').click();
  await page.keyboard.press('Control+x');
  // Deletes the folder when it is opened: its row would disappear with the next listing of the shown folder.
  await page.route('**/?prefix=gone*', async (route) => {
    await rm(join(site.root ?? '', 'gone'), { recursive: true, force: true });
    await route.continue();
  });
  await row(page, 'gone/').dblclick();
  await page.getByText('This folder doesn’t exist.').first().waitFor();
  await page.keyboard.press('Control+v');
  assert.equal(await page.locator('.folder-view[data-drop-folder="gone/"]').count(), 0);
  await page.goBack();
  await row(page, 'report.pdf').waitFor();
  await page.keyboard.press('Control+v');
  await waitForMessage(page, '“⁨cat.txt⁩” is already in “⁨Files⁩”');
  assert.equal(await site.exists('gone/'), false);
  assert.ok(await site.exists('cat.txt'));

  // A dialog asks about each taken name, or once for all.
  await row(page, 'a.txt').click();
  for (const name of ['b.txt', 'c.txt', 'd.txt']) await row(page, name).click({ modifiers: ['Control'] });
  await page.keyboard.press('Control+x');
  await row(page, 'to/').dblclick();
  await row(page, 'to/a.txt').waitFor();
  await page.keyboard.press('Control+v');
  const dialog = page.getByRole('dialog', { name: 'already exists in “⁨to⁩”' });
  await dialog.waitFor();
  // "d.txt" does not conflict.
  await dialog.getByRole('checkbox', { name: '2 other conflicts' }).waitFor();
  // Several requests are in progress, so any of the conflicts can be the first.
  const [, skipped = ''] = (await dialog.getByRole('heading').textContent())?.match(/⁨(.*?)⁩/) ?? [];
  await dialog.getByRole('button', { name: 'Skip' }).click();
  await page.getByRole('dialog').filter({ hasNotText: skipped }).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Keep both' }).click();
  await waitForMessage(page, '3 items moved to “⁨to⁩”');
  for (const name of ['a', 'b', 'c'].filter((each) => `${each}.txt` !== skipped)) {
    assert.equal((await site.read(`to/${name} (2).txt`)).toString(), name);
    await row(page, `to/${name} (2).txt`).waitFor();
  }
  for (const name of ['a', 'b', 'c']) assert.equal((await site.read(`to/${name}.txt`)).toString(), `old ${name}`);
  assert.deepEqual(
    (await site.paths()).filter((path) => /^[a-d]\.txt$/.test(path)),
    [skipped],
  );
  await page.goBack();
  await row(page, 'sub/').click();
  await page.keyboard.press('Control+x');
  await row(page, 'to/').dblclick();
  await row(page, 'to/a.txt').waitFor();
  await page.keyboard.press('Control+v');
  await page.getByText('Replacing the folder deletes everything in it.').waitFor();
  await page.getByRole('button', { name: 'Replace' }).click();
  await waitForMessage(page, '“⁨sub⁩” moved to “⁨to⁩”');
  assert.ok((await site.exists('to/sub/new.txt')) && !(await site.exists('to/sub/old.txt')));
  const replaced = page.getByRole('listitem').filter({ hasText: '“⁨sub⁩” moved' });
  assert.equal(await replaced.getByRole('button', { name: 'Undo' }).count(), 0, 'a replaced folder can’t be restored');
});

test('The folder picker works with the keyboard alone, and a copy can be cancelled and continues after a reload', async (t) => {
  const { page, site } = await openSite(t, {
    files: { ...FILES, 'notes/deep/x.txt': 'x' },
    visit: { expectedErrors: [/404.*photos%2Fnotes/] },
  });
  await row(page, 'report.pdf').click();
  await page.keyboard.press('Alt+Shift+m');
  const picker = page.getByRole('dialog', { name: 'Move “⁨report.pdf⁩” to…' });
  const submit = picker.getByRole('button', { name: 'Move here' });
  await picker.getByRole('option', { name: 'photos' }).waitFor();
  await picker.getByText('This item is already here.').waitFor();
  await becomes(() => submit.isDisabled(), true);
  await assertAccessible(page, t, { state: 'the folder picker' });

  for (let presses = 0; presses < 2; presses++) await page.keyboard.press('ArrowDown');
  await picker.getByRole('option', { name: 'photos', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await picker.getByRole('option', { name: '2026' }).waitFor();
  await page.keyboard.press('Backspace');
  await picker.getByRole('option', { name: 'photos', selected: true }).waitFor();
  await page.keyboard.type('not');
  await picker.getByRole('option', { name: 'photos' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await picker.getByRole('option', { name: 'deep' }).waitFor();
  await picker.getByRole('button', { name: 'New folder' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'New folder' }).getByRole('textbox').fill('fresh');
  await page.keyboard.press('Enter');
  await picker.getByText('No folders here').waitFor();
  await submit.focus();
  await page.keyboard.press('Enter');
  await waitForMessage(page, '“⁨report.pdf⁩” moved to “⁨fresh⁩”');
  await until('the file is moved', () => site.exists('notes/fresh/report.pdf'));
  await row(page, 'report.pdf').waitFor({ state: 'detached' });

  // A copy in progress can be cancelled.
  let isEnded = false;
  const input = { source: 'notes/', destination: 'photos/notes/', overwrite: false };
  const job = { id: 'copy', kind: 'copy-folder', status: 'running', user: null, input, attempts: 1, createdAt: '' };
  await page.route('**/copy', (route) => route.fulfill({ status: 202, json: { success: true, job } }));
  await page.route('**/-/jobs/copy', (route) => {
    const status = route.request().method() === 'DELETE' ? 'cancelled' : isEnded ? 'succeeded' : 'running';
    return route.fulfill({ json: { success: true, job: { ...job, status, result: {} } } });
  });
  await row(page, 'notes/').click();
  await page.keyboard.press('Control+c');
  await row(page, 'photos/').dblclick();
  await row(page, 'photos/2026/').waitFor();
  // The page checks the folder until the service has removed the copy.
  const folderMissing = page.waitForResponse(
    (response) => response.url().includes('prefix=photos%2Fnotes') && response.status() === 404,
  );
  await page.keyboard.press('Control+v');
  await page.getByRole('button', { name: /Cancel.*notes/ }).click();
  await waitForMessage(page, 'Copy cancelled. 0 of 1 item copied.');
  await row(page, 'photos/notes/').waitFor({ state: 'detached' });
  await folderMissing;

  // A copy that another page started, or this one before a reload, is in the tray until it ends.
  await page.route('**/-/jobs?*', (route) => route.fulfill({ json: { success: true, jobs: [job] } }));
  await page.reload();
  await tray(page).locator('.operation').getByText('Copying “⁨notes⁩” to “⁨photos⁩”').waitFor();
  isEnded = true;
  await waitForMessage(page, '“⁨notes⁩” copied to “⁨photos⁩”');
  await tray(page).waitFor({ state: 'detached' });
});
