import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { row, selectedText, waitForElementFocus, waitForFocus, waitForMessage } from './elements.ts';
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

describe('A new folder', () => {
  it('gets the focus and the selection, and disappears when the service rejects it', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, visit: { expectedErrors: [/create_folder/] } });
    await page.keyboard.press('Alt+n');
    const dialog = page.getByRole('dialog', { name: 'New folder' });
    const name = dialog.getByRole('textbox', { name: 'Name' });
    await name.waitFor();
    await becomes(() => selectedText(name), 'New folder');
    await assertAccessible(page, t, { state: 'the dialog for a new folder' });

    for (const [typed, problem] of [
      ['', 'Enter a name.'],
      ['photos', 'This name is already taken.'],
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

    await page.route('**/create_folder', (route) => refuse(route, 'unavailable', 'The disk is asleep.'));
    await page.keyboard.press('Alt+n');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await waitForMessage(page, 'The server isn’t available right now.');
    await row(page, 'New folder/').waitFor({ state: 'detached' });
  });
});

describe('A deletion', () => {
  it('needs a confirmation, moves the focus to the next entry, and restores an entry that the service keeps', async (t) => {
    const { page, site } = await openSite(t, { files: FILES, visit: { expectedErrors: [/500/] } });
    await row(page, 'photos/').click();
    await page.keyboard.press('Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete “⁨photos⁩” and everything in it?' });
    await dialog.getByText('The folder contains 2 items.').waitFor();
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
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

    await page.route('**/delete/**', (route) => refuse(route, 'internal-error', 'Something went wrong on the server.'));
    await row(page, 'report.pdf').click();
    await page.keyboard.press('Delete');
    await page.getByRole('button', { name: 'Delete file' }).click();
    await waitForMessage(page, 'Couldn’t delete “⁨report.pdf⁩”');
    await waitForMessage(page, 'Something went wrong on the server.');
    await row(page, 'report.pdf').waitFor();
  });
});

describe('A rename', () => {
  it('keeps the focus and the selection on the entry, and its message undoes it', async (t) => {
    const { page, site } = await openSite(t, { files: FILES });
    const field = page.getByRole('textbox', { name: 'New name for' });
    await row(page, 'archive.tar.gz').click();
    await page.keyboard.press('F2');
    await becomes(() => selectedText(field), 'archive');
    await page.keyboard.type('zebra');
    if (isFullForm) await assertAccessible(page, t, { state: 'the field of a name' });
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
  });

  it(
    'ends with a click elsewhere, and is discarded by Escape and when the user leaves the folder',
    IN_FULL_FORM_ONLY,
    async (t) => {
      const { page, site } = await openSite(t, { files: FILES });
      const field = page.getByRole('textbox', { name: 'New name for' });
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
      await becomes(() => field.inputValue(), 'cat.txt');
      await becomes(() => selectedText(field), 'cat');
    },
  );
});

describe('A message about a change', () => {
  it('does not cover the focused row at the end of a list, also on a narrow screen', IN_FULL_FORM_ONLY, async (t) => {
    const files = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${100 + index}.txt`, '']));
    const { page } = await openSite(t, { files });
    for (const [width, height, last] of [
      [1440, 900, 139],
      [360, 740, 138],
    ] as const) {
      await page.setViewportSize({ width, height });
      await page.keyboard.press('End');
      await waitForFocus(page, `${last}.txt`);
      await page.keyboard.press('Delete');
      await page.getByRole('button', { name: 'Delete file' }).click();
      await waitForMessage(page, `“⁨${last}.txt⁩” deleted`);
      await waitForFocus(page, `${last - 1}.txt`);
      await becomes(() => page.evaluate(isFocusAboveMessages), true);
    }
  });
});

function isFocusAboveMessages(): boolean {
  const focused = document.activeElement?.getBoundingClientRect();
  const message = document.querySelector('.message')?.getBoundingClientRect();
  return focused !== undefined && message !== undefined && focused.bottom <= message.top && focused.top >= 0;
}
