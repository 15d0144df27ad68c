import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { assertNothingOutside, boxOf, button, focusedName, title, toolbar } from './elements.ts';
import { DEEP, openFiles } from './frame.ts';
import { PHONE } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

describe('The frame of the page', () => {
  for (const width of ['phone', 'tablet', 'desktop'] as const) {
    it(`is accessible on a ${width}, in the light and in the dark`, async (t) => {
      const { page } = await openFiles(t, { width, reducedMotion: true }, DEEP);
      const assertBothAccessible = async (state: string) => {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          await assertAccessible(page, t, { state: `${state} in the ${colorScheme}` });
        }
      };
      await assertBothAccessible('a folder');
      await page.keyboard.press('ControlOrMeta+a');
      await button(toolbar(page), 'Delete').waitFor();
      await assertBothAccessible('a selection');
      await button(page, 'Appearance').click();
      await page.getByRole('menu').waitFor();
      await assertBothAccessible('an open menu');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await assertBothAccessible('the shortcuts');
    });
  }

  it('is looked at when what moves is at rest', async (t) => {
    const { page } = await openFiles(t);
    await assertAccessible(page, t, { state: 'a list' });
    await page.evaluate(() => {
      const list = document.querySelector('.folder-view');
      list?.animate([{ opacity: 0.2 }, { opacity: 1 }], 2_000);
      list?.animate([{ scale: 1 }, { scale: 1 }], { duration: 500, iterations: Infinity });
    });
    await assertAccessible(page, t, { state: 'a list that fades in' });
  });

  it('holds at 320 pixels, with nothing to scroll sideways', async (t) => {
    const { page } = await openFiles(t, PHONE, DEEP);
    await page.setViewportSize({ width: 320, height: 568 });
    await assertNothingOutside(page);
    await page.keyboard.press('ControlOrMeta+a');
    await button(toolbar(page), 'Delete').waitFor();
    await assertNothingOutside(page);
    await button(page, 'Appearance').tap();
    await page.getByRole('menu').waitFor();
    await assertNothingOutside(page);
  });
});

describe('The page from right to left', () => {
  it('is mirrored, and nothing of it is lost', async (t) => {
    const { page } = await openFiles(t, {}, DEEP);
    await page.evaluate(() => {
      document.documentElement.dir = 'rtl';
    });
    const root = await boxOf(page.getByRole('link', { name: 'Files' }));
    assert.ok(root.x > (await boxOf(title(page))).x);
    await assertNothingOutside(page);

    await button(toolbar(page), 'New folder').focus();
    await page.keyboard.press('ArrowLeft');
    await becomes(() => focusedName(page), 'Upload');
    await button(page, 'Appearance').click();
    const menu = await boxOf(page.getByRole('menu'));
    assert.ok(menu.x >= 0, JSON.stringify(menu));
  });
});
