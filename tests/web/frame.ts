import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../process/until.ts';
import { becomes } from './becomes.ts';
import { openPage, type Visit } from './browser.ts';
import { startSite } from './site.ts';

/** Whoever looks in the usual way. */
export const DESKTOP = { width: 'desktop', theme: 'light', language: 'en' } as const satisfies Partial<Visit>;
export const PHONE = { ...DESKTOP, width: 'phone' } as const;

export const DEEP = 'Photos/2026/Summer holidays/Iceland/Westfjords/';
export const FILES = { 'one.txt': '1', 'two.txt': '2', 'three.txt': '3', 'Docs/': '', [`${DEEP}bird.txt`]: 'cheep' };

export async function openFiles(t: TestContext, visit: Partial<Visit> = {}, folder = '') {
  const site = await startSite(t, { store: 'disk', files: FILES });
  const page = await openPage(t, { ...DESKTOP, ...visit, url: new URL(encodeURI(folder), site.url).href });
  await page.locator('html[data-listing="complete"]').waitFor();
  return { site, page };
}

export const button = (page: Page | Locator, name: string) => page.getByRole('button', { name, exact: true });
export const toolbar = (page: Page) => page.getByRole('toolbar');
export const row = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);
export const title = (page: Page) => page.getByRole('heading', { level: 1 });
export const isTitled = (page: Page, name: string) => title(page).getByText(name, { exact: true }).waitFor();

export async function choose(page: Page, menu: string, item: string): Promise<void> {
  await button(page, menu).click();
  await page.getByRole('menu').getByText(item, { exact: true }).click();
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

/** The words of what has the focus. */
export const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element?.getAttribute('aria-label') ?? element?.querySelector('.name')?.textContent ?? element?.textContent;
  });

/** Whether it has the focus; which it gets in the moment after the keys. */
export const isFocused = (locator: Locator) =>
  until('it has the focus', () => locator.evaluate((element) => element === document.activeElement));

export const background = (page: Page) =>
  page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/)?.[0]);

export async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  assert.ok(box);
  return box;
}

/** Fails where the page stays wider than the window, or a button of it outside. */
export function assertNothingOutside(page: Page): Promise<void> {
  return becomes(() => whatIsOutside(page), { scrolls: false, outside: [] });
}

function whatIsOutside(page: Page): Promise<{ scrolls: boolean; outside: string[] }> {
  return page.evaluate(() => ({
    scrolls: document.documentElement.scrollWidth > window.innerWidth,
    outside: [...document.querySelectorAll('button, a, input')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
      .filter((element) => {
        const { left, right } = element.getBoundingClientRect();
        return left < -0.5 || right > window.innerWidth + 0.5;
      })
      .map((element) => element.outerHTML.slice(0, 200)),
  }));
}
