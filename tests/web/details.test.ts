import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { swipe } from './elements.ts';
import { visitSite } from './open-site.ts';
import { photo } from './samples.ts';

export const needs: readonly Need[] = ['browser'];

test('The details describe the selected entries, and are a sheet at the lower edge of a narrow window', async (t) => {
  const files = { 'sub/a.txt': 'a', 'sub/b.txt': 'bb', 'photo.jpg': await photo(1), 'text.txt': 'x'.repeat(1234) };
  const { page, site } = await visitSite(t, { files, visit: { permissions: ['clipboard-read', 'clipboard-write'] } });
  // Selecting text beyond the edge of the sheet does not close it. A click outside of the sheet does.
  await page.setViewportSize({ width: 600, height: 800 });
  await page.locator('[data-path="text.txt"]').click();
  await page.keyboard.press('Alt+Enter');
  const below = page.getByRole('dialog', { name: 'Details' });
  // The position after the opening animation.
  await below.getByText('Plain text').hover();
  const type = await below.getByText('Plain text').boundingBox();
  assert.ok(type);
  await page.mouse.move(type.x + 20, type.y + 5);
  await page.mouse.down();
  await page.mouse.move(300, 20);
  await page.mouse.up();
  await page.mouse.move(type.x + 20, type.y + 5);
  assert.equal(await below.count(), 1);
  await page.mouse.click(300, 20);
  await below.waitFor({ state: 'detached' });

  await page.setViewportSize({ width: 1440, height: 900 });
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Details' }).click();
  const sheet = page.getByRole('complementary', { name: 'Details' });
  await sheet.getByText('3 items').waitFor();
  await page.locator('[data-path="text.txt"]').click();
  await sheet.getByText('Plain text').waitFor();
  await sheet.getByText('1,234 bytes').waitFor();
  await sheet.getByText('text/plain').waitFor();
  await assertAccessible(page, t, { state: 'details' });
  await sheet.getByRole('button', { name: 'Copy link' }).click();
  await sheet.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `${site.url}file/text.txt`);

  await page.locator('[data-path="sub/"]').click();
  await sheet.getByRole('button', { name: 'Count items' }).click();
  await sheet.getByText('2 items').waitFor();
  await page.locator('[data-path="text.txt"]').click({ modifiers: ['ControlOrMeta'] });
  await sheet.getByText('2 selected').waitFor();
  await sheet.getByText('Size of files').waitFor();
  await sheet.getByText('folders not included').waitFor();
  await sheet.getByRole('button', { name: 'Close details' }).click();
  await sheet.waitFor({ state: 'detached' });

  await page.locator('[data-path="photo.jpg"]').dblclick();
  await page.getByRole('dialog').getByRole('button', { name: 'Details' }).click();
  await page.getByRole('dialog').getByRole('complementary').getByText('\u2068JPEG\u2069 image').waitFor();
  if (isFullForm) await assertAccessible(page, t, { state: 'a preview with details' });
});

test(
  'On a phone, swipes show the next file or close the preview, and going back closes the details',
  IN_FULL_FORM_ONLY,
  async (t) => {
    const files = { '1.jpg': await photo(1), '2.jpg': await photo(2) };
    const { page, site } = await visitSite(t, { files, path: '?preview=1.jpg', visit: { width: 'phone' } });
    await page.getByRole('img', { name: '1.jpg' }).waitFor();
    await swipe(page, [300, 350], [80, 360]);
    await page.getByRole('dialog', { name: '2.jpg' }).waitFor();
    await swipe(page, [80, 350], [300, 340]);
    await page.getByRole('dialog', { name: '1.jpg' }).waitFor();

    await page.getByRole('button', { name: 'Details' }).click();
    const sheet = page.getByRole('dialog', { name: 'Details' });
    await sheet.getByText('\u2068JPEG\u2069 image').waitFor();
    await assertAccessible(page, t, { state: 'details on a phone' });
    await page.goBack();
    await sheet.waitFor({ state: 'detached' });
    await page.getByRole('dialog', { name: '1.jpg' }).waitFor();

    await swipe(page, [180, 300], [190, 520]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await becomes(() => page.url(), site.url);
  },
);
