import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { assertAccessibleInBothSchemes } from './axe.ts';
import { becomes } from './becomes.ts';
import { button, row, waitForMessage, waitForNoOverflow } from './elements.ts';
import { openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = { 'IMG 1.md': 'one', 'IMG 2.md': 'two', 'Trip 3.md': 'three', 'other.txt': 'other' };

describe('Renaming several files', () => {
  it('previews the new names, rejects conflicts, and is undone at once', async (t) => {
    const { page, site } = await openSite(t, { files: FILES });
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
    await assertAccessibleInBothSchemes(page, t, { state: 'the dialog' });
    await waitForNoOverflow(page);

    await dialog.getByLabel('First number').fill('08');
    await becomes(newNames, ['Trip 08.md', 'Trip 09.md']);
    await submit.click();
    await row(page, 'Trip 09.md').waitFor();
    await becomes(() => site.paths(), ['Trip 08.md', 'Trip 09.md', 'Trip 3.md', 'other.txt']);
    await waitForMessage(page, '2 of 2 items renamed');
    await page.keyboard.press('ControlOrMeta+z');
    await becomes(() => site.paths(), Object.keys(FILES));
    await row(page, 'IMG 1.md').waitFor();
  });
});
