import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { BrowserContext, ConsoleMessage, Page, Request } from 'playwright-core';

/** Watches all pages of a context, including frames and pages that they open. */
export interface ContextWatch {
  /**
   * Starts a list of console messages, and a list of problems, in their order: `console error: …`, `page error: …`, `CSP violation: …`, `alert: …`,
   * `request to another origin: …` and `crash: …`. A console error ends with the URL that it is about: for a status such as
   * 404, which the browser logs as an error, that of the response.
   */
  begin(allowedOrigins: readonly string[]): {
    readonly problems: readonly string[];
    readonly messages: readonly string[];
  };
  /** Waits until the list has all problems so far. */
  settle(): Promise<void>;
  /** Ends the lists. Problems after that belong to no test. */
  end(): void;
  /** Returns the origins of all requests since the last call. */
  takeOrigins(): string[];
}

/** Watches all pages that the context opens from now on. */
export async function watchContext(context: BrowserContext): Promise<ContextWatch> {
  let problems: string[] = [];
  let messages: string[] = [];
  let allowed: readonly string[] = [];
  let origins = new Set<string>();
  const report = (problem: string) => void problems.push(problem);
  context.on('console', (message) => {
    const description = describeMessage(message);
    messages.push(`${message.type()}: ${description}`);
    if (message.type() === 'error' && !LOST_BY_STOP.test(description)) report(`console error: ${description}`);
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
      return { problems, messages };
    },
    async settle() {
      await Promise.all(context.pages().map(settlePage));
    },
    end() {
      problems = [];
      messages = [];
    },
    takeOrigins() {
      const previous = [...origins];
      origins = new Set();
      return previous;
    },
  };
}

/**
 * What a page requests by itself at any time, also from a service that a test stops or has just stopped: it reconnects to the
 * stream of changes, and reads the locks shortly after each change.
 */
const LOST_BY_STOP = /(?:net::ERR_\w+|status of 503 .*) \(.*\/-\/(?:changes|locks)\?/;

interface Judged {
  readonly problems: readonly string[];
  /** Each pattern must match a problem. */
  readonly expected: readonly RegExp[];
}

const judgedPages = new WeakMap<TestContext, Judged[]>();

/**
 * Fails the test at its end for each unexpected problem, and for each expected problem that is missing. Call it after
 * `atEnd`, because Node runs no more hooks after one that throws.
 */
export function judgeAtEnd(t: TestContext, pages: Judged): void {
  const known = judgedPages.get(t);
  if (known) return void known.push(pages);
  const all = [pages];
  judgedPages.set(t, all);
  t.after(() => {
    const verdict = all.flatMap(mismatches).join('\n');
    if (verdict === '') return;
    // A test that failed keeps its own error. The problems of the page may be the cause.
    if (!t.passed) t.diagnostic(verdict);
    assert.fail(`The page has problems:\n${verdict}`);
  });
}

/** Returns the problems that are not expected, and the patterns that match no problem. */
export function mismatches({ problems, expected }: Judged): string[] {
  const unexpected = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)));
  const missing = expected.filter((pattern) => !problems.some((problem) => pattern.test(problem)));
  return [...unexpected, ...missing.map((pattern) => `missing: ${pattern}`)];
}

const REPORT = 'reportToTheTest';

/**
 * Runs in each document before its own scripts, unaffected by its policy. Hostile names and files call `alert`; the page
 * itself never does.
 */
const REPORTER = `
  // Playwright reports only the file choosers of inputs.
  delete globalThis.showOpenFilePicker;
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
  // These requests don't use the network: their content is in the URL, or in a viewer of the browser.
  return ['data:', 'about:', 'chrome:', 'chrome-extension:'].includes(protocol) || origins.includes(origin);
}

async function settlePage(page: Page): Promise<void> {
  // Browsers report violations in a separate task, and reports arrive in order. A page that is closed, has crashed or
  // navigates rejects the evaluation, and reports nothing more.
  await page.evaluate('new Promise((resolve) => setTimeout(resolve))').catch(() => {});
}
