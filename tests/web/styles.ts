import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';

/** Fails if the styles of a component match parts of other components in the current state of the page. */
export async function assertIsolatedStyles(page: Page): Promise<void> {
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
