import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { BrowserContext, ConsoleMessage, Page, Request } from 'playwright-core';

/** What goes wrong in the pages of a context. */
export interface WatchedPages {
  /**
   * One text each so far, in their order: `console error: …`, `page error: …`, `CSP violation: …`, `alert: …`,
   * `request to another origin: …` and `crash: …`. The first ends with the URL that it is about: for an answer such as
   * 404, which the browser itself logs as an error, that of the answer.
   */
  readonly problems: readonly string[];
  /** Waits until what has gone wrong so far is among them. */
  settle(): Promise<void>;
}

/** Watches all pages that a context will have, with their frames. Call it before there is a page. */
export async function watchPages(context: BrowserContext, allowedOrigins: readonly string[]): Promise<WatchedPages> {
  const problems: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error') problems.push(`console error: ${describeMessage(message)}`);
  });
  context.on('weberror', (thrown) => {
    const error = thrown.error();
    problems.push(`page error: ${error.stack ?? error.message}`);
  });
  context.on('request', (request) => {
    if (!isAllowed(request, allowedOrigins)) {
      problems.push(`request to another origin: ${request.method()} ${request.url()}`);
    }
  });
  context.on('page', (page) => page.on('crash', () => problems.push(`crash: ${page.url()}`)));
  await context.exposeBinding(REPORT, (_source, problem: string) => problems.push(problem));
  await context.addInitScript(REPORTER);
  return {
    problems,
    async settle() {
      await Promise.all(context.pages().map(settlePage));
    },
  };
}

interface Judged {
  readonly problems: readonly string[];
  /** Each has to match a problem. */
  readonly expected: readonly RegExp[];
}

const judged = new WeakMap<TestContext, Judged[]>();

/**
 * Fails the test at its end for each problem that was not expected, and for each expectation that nothing met. Call it
 * after `atEnd`: the judgement comes after those endings then, as Node runs no further hook once one has thrown.
 */
export function judgeAtEnd(t: TestContext, pages: Judged): void {
  const known = judged.get(t);
  if (known) return void known.push(pages);
  const all = [pages];
  judged.set(t, all);
  t.after(() => {
    const verdict = all.flatMap(unforeseen).join('\n');
    if (verdict === '') return;
    // A test that failed by itself shows its own error alone; what the page did may be the reason for it.
    if (!t.passed) t.diagnostic(verdict);
    assert.fail(`The page did not do as it should:\n${verdict}`);
  });
}

function unforeseen({ problems, expected }: Judged): string[] {
  const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
  const missing = expected.filter((pattern) => !problems.some((problem) => pattern.test(problem)));
  return [...unexpected, ...missing.map((pattern) => `expected, and did not come: ${pattern}`)];
}

const REPORT = 'reportToTheTest';

/**
 * Runs in each document before its own scripts, out of reach of its policy. `alert` is what a hostile name or file
 * calls, and what the page itself never does.
 */
const REPORTER = `
  addEventListener('securitypolicyviolation', (violation) => {
    const { effectiveDirective, blockedURI, sample, sourceFile, lineNumber } = violation;
    const place = sourceFile ? \` at \${sourceFile}:\${lineNumber}\` : '';
    ${REPORT}(\`CSP violation: \${effectiveDirective} \${blockedURI} \${sample}\${place}\`);
  });
  globalThis.alert = (text) => void ${REPORT}(\`alert: \${text}\`);
`;

function describeMessage(message: ConsoleMessage): string {
  const { url, lineNumber } = message.location();
  return `${message.text()} (${url}:${lineNumber})`;
}

function isAllowed(request: Request, origins: readonly string[]): boolean {
  const { protocol, origin } = new URL(request.url());
  // No requests of the network: what they hold was in the page already, or is of the browser's own viewers.
  return ['data:', 'about:', 'chrome:', 'chrome-extension:'].includes(protocol) || origins.includes(origin);
}

async function settlePage(page: Page): Promise<void> {
  // Violations are told in a task of their own, and what the page tells comes in order. One that was closed, has crashed
  // or goes elsewhere at this moment answers with an error, and tells nothing more.
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))').catch(() => {});
}
