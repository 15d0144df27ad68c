import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from './becomes.ts';
import { row, waitForTitle } from './elements.ts';
import { FILES, openSite } from './open-site.ts';

export const needs: readonly Need[] = ['browser'];

it('Opening a folder is animated without blocking input, and not for users who prefer less motion', async (t) => {
  const { page } = await openSite(t, { files: FILES, visit: { reducedMotion: false } });
  await page.evaluate(() => {
    const observer = new MutationObserver(() => {
      const { classList, dataset } = document.documentElement;
      if (classList.contains('of-folder')) dataset['animated'] = 'yes';
    });
    observer.observe(document.documentElement, { attributeFilter: ['class'] });
  });
  const loaded = () =>
    page.evaluate(() =>
      performance.getEntriesByType('resource').some(({ name }) => /\/transitions\b.*\.js/.test(name)),
    );
  await becomes(loaded, true);
  await page.getByRole('treeitem', { name: 'Photos' }).waitFor();
  // The second folder is opened while the page changes to the first one.
  await page.evaluate(() => {
    for (const name of ['Docs', 'Photos']) {
      const item = [...document.querySelectorAll<HTMLElement>('[role="treeitem"]')].find(
        ({ textContent }) => textContent === name,
      );
      item?.click();
    }
  });
  await waitForTitle(page, 'Photos');
  await row(page, 'Photos/2026/').waitFor();
  await becomes(() => animations(page), { wasAnimated: true, classes: '' });

  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.evaluate(() => delete document.documentElement.dataset['animated']);
  await row(page, 'Photos/2026/').dblclick();
  await row(page, 'Photos/2026/Summer holidays/').waitFor();
  assert.deepEqual(await animations(page), { wasAnimated: false, classes: '' });
});

const animations = (page: Page) =>
  page.evaluate(() => {
    const { className, dataset } = document.documentElement;
    return { wasAnimated: dataset['animated'] === 'yes', classes: className };
  });
