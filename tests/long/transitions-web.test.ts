// Only this file proves that a touch reaches the viewer while a photo still grows out of its tile. It needs pages of its own, with
// transitions that take minutes.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import type { Need } from '../runner/needs.ts';
import { becomes } from '../web/becomes.ts';
import { boxOf, button, moveFinger, row, selectedPaths } from '../web/elements.ts';
import { visitSite } from '../web/open-site.ts';
import { photo } from '../web/samples.ts';

export const needs: readonly Need[] = ['browser'];

it('A touch while a photo grows out of its tile is for the viewer', async (t) => {
  const files = { '1.jpg': await photo(1), '2.jpg': await photo(2) };
  const { page, site } = await visitSite(t, {
    files,
    path: '-/session',
    visit: { width: 'phone', reducedMotion: false },
  });
  // The browser ends a transition when the photo replaces the thumbnail that grows.
  await page.route(/\/(file|-\/preview)\//, () => {});
  await page.addInitScript(() => {
    const start = document.startViewTransition.bind(document);
    document.startViewTransition = (update) => {
      const transition = start(update);
      const slowDown = () => {
        if (!window.location.search.includes('preview')) return;
        for (const { effect } of document.getAnimations()) effect?.updateTiming({ duration: 600_000 });
        document.documentElement.dataset['slow'] = 'yes';
      };
      transition.ready.then(slowDown, () => {});
      return transition;
    };
  });
  /** Opens a photo in a new page, because a page that is slow once has no more transitions. */
  const open = async (path: string) => {
    await page.goto(site.url);
    await row(page, path).locator('.thumbnail.loaded').waitFor();
    await becomes(() => isLoaded(page), true);
    await row(page, path).tap();
    await page.locator('html[data-slow].of-picture').waitFor();
    // The viewer has replaced its skeleton, and listens to touches after the next frame.
    await dialog(path).getByRole('button', { name: 'Details' }).waitFor();
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))),
    );
  };
  const dialog = (name: string) => page.getByRole('dialog', { name });

  await open('1.jpg');
  await moveFinger(page, [300, 350], [80, 355]);
  await dialog('2.jpg').waitFor();

  await open('2.jpg');
  const { x, y, width, height } = await boxOf(button(dialog('2.jpg'), 'Close'));
  await page.touchscreen.tap(x + width / 2, y + height / 2);
  await dialog('2.jpg').waitFor({ state: 'detached' });
  assert.deepEqual([page.url(), await selectedPaths(page)], [site.url, []]);
});

const isLoaded = (page: Page) =>
  page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => /\/transitions\b.*\.js/.test(name)));
