import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { assertAccessible } from './axe.ts';
import { becomes } from './becomes.ts';
import { assertNothingOutside, boxOf, button, focusedName, title, toolbar } from './elements.ts';
import { DEEP, openFiles } from './frame.ts';

export const needs: readonly Need[] = ['browser'];

/** Checks a state of the page with both colour schemes. */
async function assertBothAccessible(page: Page, t: TestContext, state: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await assertAccessible(page, t, { state: `${state} in the ${colorScheme} scheme` });
  }
}

describe('The frame of the page', () => {
  it('is accessible on a desktop in both colour schemes, and is mirrored from right to left', async (t) => {
    const { page } = await openFiles(t, { width: 'desktop', reducedMotion: true }, DEEP);
    // Checks of accessibility wait until animations that end have ended.
    await page.evaluate(() => {
      const list = document.querySelector('.folder-view');
      list?.animate([{ opacity: 0.2 }, { opacity: 1 }], 2_000);
      list?.animate([{ scale: 1 }, { scale: 1 }], { duration: 500, iterations: Infinity });
    });
    await assertBothAccessible(page, t, 'a folder');
    await page.keyboard.press('?');
    const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await shortcuts.waitFor();
    await assertBothAccessible(page, t, 'the shortcuts');
    await page.keyboard.press('Escape');
    await shortcuts.waitFor({ state: 'detached' });

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

  it('is accessible on a phone in both colour schemes, and fits into 320 pixels', async (t) => {
    const { page } = await openFiles(t, { width: 'phone', reducedMotion: true }, DEEP);
    await page.setViewportSize({ width: 320, height: 568 });
    await assertNothingOutside(page);
    await page.keyboard.press('ControlOrMeta+a');
    await button(toolbar(page), 'Delete').waitFor();
    await assertNothingOutside(page);
    await assertBothAccessible(page, t, 'a selection');
    await button(page, 'Appearance').tap();
    await page.getByRole('menu').waitFor();
    await assertNothingOutside(page);
    await assertBothAccessible(page, t, 'an open menu');
  });
});
