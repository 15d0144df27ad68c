import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { until } from '../../testing/until.ts';
import { becomes } from './becomes.ts';

/** The row or tile of an entry. */
export function row(page: Page, path: string): Locator {
  return page.locator(`[data-path="${path.replaceAll(/["\\]/g, '\\$&')}"]`);
}

/** The button with exactly this name. */
export function button(parent: Page | Locator, name: string): Locator {
  return parent.getByRole('button', { name, exact: true });
}

export const toolbar = (page: Page): Locator => page.getByRole('toolbar');

/** The messages at the lower edge, where changes are confirmed and errors are reported. */
export const messages = (page: Page): Locator => page.getByRole('region', { name: 'Notifications' });

/** The region of the preview with the contents of the file. */
export const contents = (page: Page): Locator => page.getByRole('region', { name: 'Contents of' });

/** The heading with the name of the shown folder. */
export const title = (page: Page): Locator => page.getByRole('heading', { level: 1 });

/** Waits until the heading is this name. */
export const waitForTitle = (page: Page, name: string): Promise<void> =>
  title(page).getByText(name, { exact: true }).waitFor();

/** Waits until a message has this text. */
export const waitForMessage = (page: Page, text: string | RegExp): Promise<void> =>
  messages(page).getByText(text).first().waitFor();

/** Opens a folder of the root by the sidebar, and waits until its entries are shown. */
export async function enterFolder(page: Page, name: string): Promise<void> {
  await page.getByRole('treeitem', { name, exact: true }).click();
  await waitForTitle(page, name);
  await page.locator('html[data-listing="complete"]').waitFor();
  await page.locator(`[data-path^="${name}/"]`).first().waitFor();
}

/** Chooses an item of the menu that a button opens. */
export async function choose(page: Page, menu: string, item: string): Promise<void> {
  await button(page, menu).click();
  await page.getByRole('menu').getByText(item, { exact: true }).click();
  await page.getByRole('menu').waitFor({ state: 'detached' });
}

/** Returns the shown names of the entries, from top to bottom. */
export function shownNames(page: Page): Promise<string[]> {
  return page.locator('[data-path] .entry-name').evaluateAll((found) => {
    const at = (element: Element) => element.closest('[data-path]')?.getBoundingClientRect() ?? new DOMRect();
    const sorted = found.toSorted((left, right) => at(left).top - at(right).top || at(left).left - at(right).left);
    return sorted.map((element) => element.textContent ?? '');
  });
}

/** Returns the paths of the selected entries that are in the document, sorted. */
export async function selectedPaths(page: Page): Promise<string[]> {
  const found = page.locator('[data-path][aria-selected="true"]');
  return (await found.evaluateAll((all) => all.map((element) => element.getAttribute('data-path') ?? ''))).toSorted();
}

/** Returns the path of the focused entry, or null. */
export const focusedPath = (page: Page): Promise<string | null> =>
  page.evaluate(() => document.activeElement?.getAttribute('data-path') ?? null);

/** Returns the name of the focused element. */
export const focusedName = (page: Page): Promise<string | null | undefined> =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element?.getAttribute('aria-label') ?? element?.querySelector('.name')?.textContent ?? element?.textContent;
  });

/** Waits until the element has the focus. */
export const waitForElementFocus = (locator: Locator): Promise<true> =>
  until('the element has the focus', () => locator.evaluate((element) => element === document.activeElement));

/**
 * Types a name for the selected entry, and confirms it. The code of the name field loads after the page, so that earlier keys
 * would get to the list.
 */
export async function renameByKeyboard(page: Page, name: string): Promise<void> {
  await page.keyboard.press('F2');
  await typeName(page, name);
}

/** Types the beginning of a name in a list. At once, because a pause would begin another name. */
export async function typeAhead(page: Page, letters: string): Promise<void> {
  await Promise.all(letters.split('').map((key) => page.keyboard.press(key)));
}

/** Types into the name field once it is there, and confirms the name. */
export async function typeName(page: Page, name: string): Promise<void> {
  await waitForElementFocus(page.locator('.name-field input'));
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
}

/** Waits until the entry has the focus. */
export const waitForFocus = (page: Page, path: string): Promise<void> => becomes(() => focusedPath(page), path);

/** Returns the selected part of the value of an input field. */
export function selectedText(field: Locator): Promise<string> {
  return field.evaluate((element) => {
    if (!(element instanceof HTMLInputElement)) return '';
    return element.value.slice(element.selectionStart ?? 0, element.selectionEnd ?? 0);
  });
}

/** Returns the lightness of the page's background, from 0 to 1. */
export const backgroundLightness = (page: Page): Promise<number> =>
  page.evaluate(() => Number(getComputedStyle(document.documentElement).backgroundColor.match(/[\d.]+/)?.[0]));

export async function boxOf(locator: Locator) {
  const box = await locator.boundingBox();
  assert.ok(box);
  return box;
}

/** Returns the box of the text of an element, or of its last characters. Runs in the page. */
export function boxOfText(element: Element, from = 0): { left: number; right: number; bottom: number } {
  const range = document.createRange();
  range.selectNodeContents(element);
  const text = element.lastChild;
  if (from < 0 && text) range.setStart(text, (text.textContent?.length ?? 0) + from);
  const { left, right, bottom } = range.getBoundingClientRect();
  return { left, right, bottom };
}

/** Waits until the page is no wider than the window, and no control is outside. */
export function waitForNoOverflow(page: Page): Promise<void> {
  return becomes(() => overflowOf(page), { scrolls: false, outside: [] });
}

function overflowOf(page: Page): Promise<{ scrolls: boolean; outside: string[] }> {
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

/** Returns whether the last icon in an element is mirrored. */
export function isMirrored(element: Locator): Promise<boolean> {
  return element
    .locator('.icon')
    .last()
    .evaluate((icon) => getComputedStyle(icon).scale === '-1 1');
}

/** Keeps a finger on an entry until it is selected. */
export async function longPress(page: Page, path: string): Promise<void> {
  await row(page, path).scrollIntoViewIfNeeded();
  const box = await boxOf(row(page, path));
  const cdp = await page.context().newCDPSession(page);
  const touchPoints = [{ x: box.x + box.width / 2, y: box.y + box.height / 2 }];
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints });
  await row(page, path).and(page.locator('[aria-selected="true"]')).waitFor();
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await cdp.detach();
}

/** Moves a finger from one point of the window to another, once the page reacts to swipes. */
export async function swipe(page: Page, from: readonly [number, number], to: readonly [number, number]): Promise<void> {
  // A touch would end the transition in which a picture grows out of its tile.
  await page.locator('html:not(.page-transition)').waitFor();
  // An element begins to listen after the frame in which it is shown.
  await page.evaluate(
    () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))),
  );
  await moveFinger(page, from, to);
}

/** Moves a finger from one point of the window to another, at once. */
export async function moveFinger(
  page: Page,
  from: readonly [number, number],
  to: readonly [number, number],
): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  // The timestamps determine the speed of the swipe, also on a slow machine.
  let timestamp = Date.now() / 1000;
  const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', points: readonly (readonly [number, number])[]) => {
    timestamp += 0.05;
    return cdp.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y]) => ({ x, y })), timestamp });
  };
  await send('touchStart', [from]);
  for (const part of [0.3, 0.6, 1]) {
    await send('touchMove', [[from[0] + (to[0] - from[0]) * part, from[1] + (to[1] - from[1]) * part]]);
  }
  await send('touchEnd', []);
  await cdp.detach();
}
