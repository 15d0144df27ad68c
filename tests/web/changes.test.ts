import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { button, row, selectedText, waitForElementFocus, waitForFocus, waitForMessage } from './elements.ts';
import { refuse } from './intercept.ts';
import { openSite } from './open-site.ts';
import { HOSTILE_NAMES } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'report.pdf': 'report',
  'photos/cat.txt': 'cat',
  'photos/2026/': '',
  'cat.txt': 'another cat',
  'archive.tar.gz': 'archive',
  'file 2.txt': 'two',
  'file 10.txt': 'ten',
};

/** The tests in `tests/web/models` use the others. */
const [HOSTILE_NAME = ''] = HOSTILE_NAMES;

describe('Folders and files', () => {
  it('are created, deleted and shown again when the service rejects that, with the focus on the next entry', async (t) => {
    const long = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`long/${100 + index}.txt`, '']));
    const { page, site } = await openSite(t, {
      folder: 'long/',
      files: { ...FILES, ...long },
      visit: { expectedErrors: [/create_folder/, /500/] },
    });
    // A message does not cover the focused row at the end of a list, also on a narrow screen.
    for (const [width, height, last] of [
      [1440, 900, 139],
      [360, 740, 138],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.keyboard.press('End');
      await waitForFocus(page, `long/${last}.txt`);
      await page.keyboard.press('Delete');
      await page.getByRole('button', { name: 'Delete file' }).click();
      await waitForMessage(page, `“⁨${last}.txt⁩” deleted`);
      await waitForFocus(page, `long/${last - 1}.txt`);
      await becomes(() => page.evaluate(isFocusAboveMessages), true);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.keyboard.press('Alt+ArrowUp');
    await row(page, 'report.pdf').waitFor();

    // A new folder gets the focus and the selection.
    await page.keyboard.press('Alt+n');
    const creating = page.getByRole('dialog', { name: 'New folder' });
    const name = creating.getByRole('textbox', { name: 'Name' });
    await name.waitFor();
    await becomes(() => selectedText(name), 'New folder');
    for (const [typed, problem] of [
      ['', 'Enter a name.'],
      ['photos', 'This name is already taken.'],
    ] as const) {
      await name.fill(typed);
      await page.keyboard.press('Enter');
      await creating.getByText(problem).waitFor();
      await becomes(() => name.getAttribute('aria-invalid'), 'true');
    }
    await name.fill('  🎉 \u202ereversed');
    await page.keyboard.press('Enter');
    await waitForFocus(page, '  🎉 \u202ereversed/');
    await becomes(() => row(page, '  🎉 \u202ereversed/').getAttribute('aria-selected'), 'true');
    await until('the folder is stored', () => site.exists('  🎉 \u202ereversed/'));
    await page.route('**/create_folder', (route) => refuse(route, 'unavailable', 'The disk is asleep.'));
    await page.keyboard.press('Alt+n');
    await creating.getByRole('button', { name: 'Create' }).click();
    await waitForMessage(page, 'The server isn’t available right now.');
    await row(page, 'New folder/').waitFor({ state: 'detached' });

    // A deletion needs a confirmation.
    await row(page, 'photos/').click();
    await page.keyboard.press('Delete');
    const deleting = page.getByRole('dialog', { name: 'Delete “⁨photos⁩” and everything in it?' });
    await deleting.getByText('The folder contains 2 items.').waitFor();
    await page.keyboard.press('Enter');
    await deleting.waitFor({ state: 'detached' });
    assert.ok(await site.exists('photos/'), 'Cancel has the focus');
    await row(page, 'file 2.txt').click();
    await row(page, 'file 10.txt').click({ modifiers: ['Control'] });
    await page.keyboard.press('Delete');
    const several = page.getByRole('dialog', { name: 'Delete 2 items?' });
    await waitForElementFocus(several.getByRole('button', { name: 'Cancel' }));
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await waitForFocus(page, 'report.pdf');
    await waitForMessage(page, '2 items deleted');
    assert.equal(await site.exists('file 10.txt'), false);
    await page.route('**/delete/report.pdf', (route) => refuse(route, 'internal-error', 'Something went wrong.'));
    await row(page, 'report.pdf').click();
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Delete file' }).click();
    await waitForMessage(page, 'Couldn’t delete “⁨report.pdf⁩”');
    await waitForMessage(page, 'Something went wrong on the server.');
    await row(page, 'report.pdf').waitFor();
  });

  it('are renamed, one or several, which is undone, and not renamed when the user leaves the name field', async (t) => {
    const files = { ...FILES, 'IMG 1.md': 'one', 'IMG 2.md': 'two', 'Trip 3.md': 'three' };
    const { page, site } = await openSite(t, { files });
    const field = page.getByRole('textbox', { name: 'New name for' });
    await row(page, 'archive.tar.gz').click();
    await page.keyboard.press('F2');
    await becomes(() => selectedText(field), 'archive');
    await page.keyboard.type('zebra');
    await page.keyboard.press('Enter');
    await waitForFocus(page, 'zebra.tar.gz');
    await row(page, 'archive.tar.gz').waitFor({ state: 'detached' });
    await becomes(() => row(page, 'zebra.tar.gz').getAttribute('aria-selected'), 'true');
    await until('the file has its new name', () => site.exists('zebra.tar.gz'));
    await page.getByRole('button', { name: 'Undo' }).click();
    await row(page, 'archive.tar.gz').waitFor();
    await until('the file has its old name', () => site.exists('archive.tar.gz'));
    await until('the file has no other name', async () => !(await site.exists('zebra.tar.gz')));
    await row(page, 'archive.tar.gz').click();
    await page.keyboard.press('F2');
    await field.fill(HOSTILE_NAME);
    await page.keyboard.press('Enter');
    await waitForFocus(page, HOSTILE_NAME);
    await until('the name is stored', () => site.exists(HOSTILE_NAME));

    // A click elsewhere confirms the name. Escape and leaving the folder discard it.
    await row(page, 'photos/').click();
    await page.getByRole('button', { name: 'Rename' }).click();
    await becomes(() => selectedText(field), 'photos');
    await field.fill('cat.txt');
    await page.getByText('This name is already taken.').waitFor();
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
    await row(page, 'pictures/').dblclick();
    await row(page, 'pictures/cat.txt').click();
    await page.keyboard.press('F2');
    await field.fill('half');
    await page.goBack();
    await row(page, 'report.pdf').waitFor();
    await row(page, 'pictures/').dblclick();
    await row(page, 'pictures/cat.txt').click();
    await page.keyboard.press('F2');
    await becomes(() => selectedText(field), 'cat');
    await page.goBack();

    // Several at once.
    await row(page, 'IMG 1.md').click();
    await row(page, 'IMG 2.md').click({ modifiers: ['Shift'] });
    await page.keyboard.press('F2');
    const dialog = page.getByRole('dialog', { name: 'Rename 2 items' });
    const submit = button(dialog, 'Rename');
    const newNames = () => dialog.locator('tbody td:last-child bdi').allTextContents();
    await becomes(newNames, ['IMG 1.md', 'IMG 2.md']);
    assert.equal(await submit.isDisabled(), true);
    await dialog.getByLabel('New name').fill('Trip {n}');
    await dialog.getByLabel('First number').fill('2');
    await becomes(newNames, ['Trip 2.md', 'Trip 3.md']);
    await dialog.getByRole('status').getByText('1 name is not possible').waitFor();
    await dialog.getByText('This name is already taken.').waitFor();
    assert.equal(await submit.isDisabled(), true);
    await dialog.getByLabel('First number').fill('08');
    await becomes(newNames, ['Trip 08.md', 'Trip 09.md']);
    await submit.click();
    await row(page, 'Trip 09.md').waitFor();
    const stored = async () => (await site.paths()).filter((path) => path.endsWith('.md'));
    await becomes(stored, ['Trip 08.md', 'Trip 09.md', 'Trip 3.md']);
    await waitForMessage(page, '2 of 2 items renamed');
    await page.keyboard.press('ControlOrMeta+z');
    await becomes(stored, ['IMG 1.md', 'IMG 2.md', 'Trip 3.md']);
    await row(page, 'IMG 1.md').waitFor();
  });
});

function isFocusAboveMessages(): boolean {
  const focused = document.activeElement?.getBoundingClientRect();
  const message = document.querySelector('.message')?.getBoundingClientRect();
  return focused !== undefined && message !== undefined && focused.bottom <= message.top && focused.top >= 0;
}
