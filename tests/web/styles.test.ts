import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { button, row } from './elements.ts';
import { openSite } from './open-site.ts';
import { CSV, JSON_TEXT, photo, SOURCE_CODE } from './samples.ts';
import { testFile, trayShows, uploadFiles } from './uploading.ts';

export const needs: readonly Need[] = ['browser'];

const FILES = {
  'folder/': '',
  'code.ts': SOURCE_CODE,
  'data.json': JSON_TEXT,
  'table.csv': CSV,
  'text.md': '# Title\n\n- [x] done\n\n```js\nlet a = 1;\n```\n',
};

it('The styles of a component match no parts of other components', IN_FULL_FORM_ONLY, async (t) => {
  const { page } = await openSite(t, { files: { ...FILES, 'photo.jpg': await photo(1, { width: 300, height: 200 }) } });
  await uploadFiles(page, [testFile('one.txt', '1'), testFile('two.txt', '2')]);
  await trayShows(page, '2 files uploaded');
  await row(page, 'one.txt').click();
  await assertIsolated(page);
  await page.keyboard.press('F2');
  await page.locator('.name-field').waitFor();
  await assertIsolated(page);
  await page.keyboard.press('Escape');
  await row(page, 'two.txt').click({ button: 'right' });
  await page.getByRole('menu').waitFor();
  await assertIsolated(page);
  await page.keyboard.press('Escape');

  for (const keys of ['Alt+n', 'Delete', 'Alt+Shift+m', 'Shift+?']) {
    await page.keyboard.press(keys);
    await page.getByRole('dialog').waitFor();
    await assertIsolated(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await button(page, 'Grid').click();
  await page.locator('.thumbnail.loaded').waitFor();
  await assertIsolated(page);

  for (const [name, part] of Object.entries(PREVIEWS)) {
    await row(page, name).dblclick();
    await page.getByRole('dialog').locator(part).first().waitFor();
    if (name === 'photo.jpg') {
      await button(page.getByRole('dialog'), 'Details').click();
      const details = page.getByRole('complementary', { name: 'Details' });
      await details.getByText(name).first().waitFor();
      for (const section of ['.versions .secondary', '.activity .secondary']) {
        await details.locator(section).first().waitFor();
      }
    }
    await assertIsolated(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
});

/** A part of the preview of each file. The last preview also shows the details. */
const PREVIEWS: Readonly<Record<string, string>> = {
  'code.ts': '.hljs-keyword',
  'data.json': '.key',
  'table.csv': '.numeric',
  'text.md': '.hljs-keyword',
  'photo.jpg': '.picture.loaded',
};

async function assertIsolated(page: Page): Promise<void> {
  assert.deepEqual(await page.evaluate(foreignMatches), []);
}

/**
 * Returns the selectors that match a part of another component without naming the class of that component. Runs in the
 * page, and ignores conditions such as the width and `:hover`.
 */
function foreignMatches(): string[] {
  interface Rule {
    readonly component: string;
    readonly selector: string;
  }
  const rules: Rule[] = [];
  const collect = (list: CSSRuleList, outer?: Rule) => {
    for (const rule of list) {
      if (rule instanceof CSSStyleRule) {
        const selector = rule.selectorText.replaceAll('&', `:is(${outer?.selector})`);
        const collected = { component: outer?.component ?? selector, selector };
        rules.push(collected);
        collect(rule.cssRules, collected);
      } else if (rule instanceof CSSGroupingRule) {
        const isOfComponents = !(rule instanceof CSSLayerBlockRule) || ['ui', 'features', 'app'].includes(rule.name);
        if (isOfComponents) collect(rule.cssRules, outer);
      }
    }
  };
  for (const sheet of document.styleSheets) collect(sheet.cssRules);
  const components = [...new Set(rules.map(({ component }) => component))].join();
  const found = new Set<string>();
  for (const { component, selector } of rules) {
    const stateless = selector
      .replaceAll(/::[\w-]+(?:\([^)]*\))?/g, '')
      .replaceAll(/:(?:hover|active|focus|focus-visible|disabled)(?![\w-])/g, ':where(*)');
    for (const element of document.querySelectorAll(stateless)) {
      const owner = element.closest(components);
      if (!owner || owner.matches(component)) continue;
      // A row or tile is a part of the list or grid.
      if (owner.matches('.entry') && /^\.(entries|tiles)/.test(component)) continue;
      const isNamed = [...owner.classList].some((name) => component !== `.${name}` && selector.includes(`.${name}`));
      if (!isNamed) found.add(`${selector} matches a part of ${owner.tagName}.${owner.getAttribute('class')}`);
    }
  }
  return [...found];
}
