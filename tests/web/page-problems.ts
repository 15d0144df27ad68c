import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { BrowserContext, ConsoleMessage, Page, Request } from 'playwright-core';

/** Watches all pages of a context, including frames and pages that they open. */
export interface ContextWatch {
  /**
   * Starts a list of problems, in their order: `console error: …`, `page error: …`, `CSP violation: …`, `alert: …`,
   * `request to another origin: …` and `crash: …`. A console error ends with the URL that it is about: for a status such as
   * 404, which the browser logs as an error, that of the response.
   */
  begin(allowedOrigins: readonly string[]): readonly string[];
  /** Waits until the list has all problems so far. */
  settle(): Promise<void>;
  /** Ends the list. Problems after that belong to no test. */
  end(): void;
  /** Returns the origins of all requests since the last call. */
  takeOrigins(): string[];
}

/** Watches all pages that the context opens from now on. */
export async function watchContext(context: BrowserContext): Promise<ContextWatch> {
  let problems: string[] = [];
  let allowed: readonly string[] = [];
  let origins = new Set<string>();
  const report = (problem: string) => void problems.push(problem);
  context.on('console', (message) => {
    if (message.type() === 'error') report(`console error: ${describeMessage(message)}`);
  });
  context.on('weberror', (thrown) => {
    const error = thrown.error();
    // The error of a module that could not be loaded has an empty stack.
    report(`page error: ${error.stack || error.message}`);
  });
  context.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http')) origins.add(origin);
    if (!isAllowed(request, allowed)) report(`request to another origin: ${request.method()} ${request.url()}`);
  });
  context.on('page', (page) => page.on('crash', () => report(`crash: ${page.url()}`)));
  await context.exposeBinding(REPORT, (_source, problem: string) => report(problem));
  await context.addInitScript(REPORTER);
  return {
    begin(allowedOrigins) {
      allowed = allowedOrigins;
      return problems;
    },
    async settle() {
      await Promise.all(context.pages().map(settlePage));
    },
    end() {
      problems = [];
    },
    takeOrigins() {
      const taken = [...origins];
      origins = new Set();
      return taken;
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
