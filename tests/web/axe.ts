import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import axe, { type AxeResults, type Result, type RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Fails if axe finds violations in the current state of the page. Results that need a manual check become diagnostics of
 * the test. `rules` limits the check to the rules with these IDs.
 */
export async function assertAccessible(
  page: Page,
  t: TestContext,
  { state, rules }: { readonly state: string; readonly rules?: readonly string[] },
): Promise<void> {
  // The page's policy would reject a `script` element, but does not apply to the debugger.
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe.source);
  await page.evaluate(waitForAnimations);
  const options: RunOptions = rules
    ? { ...OPTIONS, runOnly: { type: 'rule', values: [...rules] }, rules: {} }
    : OPTIONS;
  // Everything behind a modal dialog is inert. The states without a dialog check it.
  const context = "[...document.querySelectorAll('dialog:modal')].at(-1) ?? document";
  const { violations, incomplete } = await page.evaluate<AxeResults>(`axe.run(${context}, ${JSON.stringify(options)})`);
  for (const undecided of incomplete) t.diagnostic(`${state}: axe can't decide ${describeUndecided(undecided)}`);
  if (violations.length > 0) assert.fail(`${state} is not accessible:\n\n${violations.map(describe).join('\n\n')}`);
}

/** Checks a state with all rules, and the contrast again in the dark color scheme: for states with most colors. */
export async function assertAccessibleInBothSchemes(
  page: Page,
  t: TestContext,
  { state }: { readonly state: string },
): Promise<void> {
  await assertAccessible(page, t, { state });
  await page.emulateMedia({ colorScheme: 'dark' });
  await assertAccessible(page, t, { state: `${state} in the dark scheme`, rules: ['color-contrast'] });
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Waits for all animations that are not endless, because elements that fade in have a lower contrast. */
async function waitForAnimations(): Promise<void> {
  for (;;) {
    const moving = document
      .getAnimations()
      .filter(({ playState, effect }) => playState === 'running' && effect?.getComputedTiming().endTime !== Infinity);
    if (moving.length === 0) return;
    await Promise.allSettled(moving.map(({ finished }) => finished));
  }
}

const OPTIONS: RunOptions = {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  // The rule of WCAG 2.2 that axe disables by default.
  rules: { 'target-size': { enabled: true } },
  resultTypes: ['violations', 'incomplete'],
};

function describe({ id, impact, help, helpUrl, nodes }: Result): string {
  const elements = nodes.map(({ target, html, failureSummary = '' }) =>
    [`${target.join(' ')}: ${html}`, ...failureSummary.split('\n')].join('\n    '),
  );
  return [`${id} (${impact ?? 'no impact given'}): ${help}. ${helpUrl}`, ...elements].join('\n  ');
}

/** Returns the rule, with the number of undecided elements by reason. */
function describeUndecided({ id, nodes }: Result): string {
  const reasons = Map.groupBy(nodes, ({ any, all, none }) =>
    [...any, ...all, ...none].map(({ message }) => message).join(' '),
  );
  return [id, ...Array.from(reasons, ([reason, { length }]) => `${length} × ${reason}`)].join('; ');
}
