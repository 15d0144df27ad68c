import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../testing/holdall.ts';
import { assertDeclared } from '../runner/declared.ts';
import { type DavService, PASSWORD, USER } from './dav-service.ts';

/** The test programs of litmus 0.13, with the number of tests in each. */
const PROGRAMS = { basic: 16, copymove: 13, props: 30, locks: 41, http: 4 } as const;

/** One test of litmus. */
interface Result {
  /** `4. put_get_utf8_segment`. */
  readonly name: string;
  readonly passed: boolean;
  /** The warnings and the reason of a failure. */
  readonly messages: readonly string[];
}

/**
 * Runs litmus against the service, and reports each of its tests as a test. Failures, warnings and tests that litmus skips
 * after a failure fail.
 */
export async function runLitmus(t: TestContext, { url }: DavService): Promise<void> {
  assertDeclared('litmus');
  for (const [program, count] of Object.entries(PROGRAMS)) {
    const { output, log } = await runProgram(t, program, url);
    const results = parseLitmus(output);
    assert.equal(results.length, count, `litmus ran other tests than expected:\n${output}`);
    for (const { name, passed, messages } of results) {
      await t.test(`${program} ${name}`, () => {
        assert.deepEqual(messages, [], `${messages.join('\n')}\n${sectionOf(log, name)}`);
        assert.ok(passed, 'litmus skipped the test.');
      });
    }
  }
}

/** Runs a program of litmus. Returns what it printed, and its log with all requests and responses. */
async function runProgram(t: TestContext, program: string, url: string): Promise<{ output: string; log: string }> {
  const folder = await temporaryFolder(t);
  const args = ['--htdocs', '/usr/share/litmus/htdocs', url, USER, PASSWORD];
  const { promise, resolve } = Promise.withResolvers<string>();
  // The exit code is the number of failed tests.
  execFile(join('/usr/libexec/litmus', program), args, { cwd: folder }, (_error, stdout, stderr) =>
    resolve(stdout + stderr),
  );
  const output = await promise;
  return { output, log: await readFile(join(folder, 'debug.log'), 'latin1') };
}

/** Parses what a program of litmus prints. It prints the name of each test again after messages and before the result. */
function parseLitmus(output: string): Result[] {
  const results = new Map<string, string>();
  const [tests = ''] = output.replaceAll(/\r\n?/g, '\n').split('\n<- summary');
  for (const [, number, name, text = ''] of tests.matchAll(/^ *(\d+)\. (\w+)([^]*?)(?=^ *\d+\. \w|$(?![^]))/gm)) {
    const key = `${number}. ${name}`;
    results.set(key, `${results.get(key) ?? ''}${text}`);
  }
  return [...results].map(([name, text]) => ({
    name,
    passed: /^[ .]*pass(?: \(with \d+ warnings?\))?$/m.test(text),
    messages: Array.from(text.matchAll(/WARNING: .*|FAIL \([^]*?\)$/gm), ([message]) => message),
  }));
}

/** Returns the requests and responses of a test from the log of litmus. */
function sectionOf(log: string, name: string): string {
  const [number = ''] = name.split('.');
  const [, section = ''] = log.split(`******* Running test ${number}: `);
  return section.split('******* Running test')[0] ?? '';
}
