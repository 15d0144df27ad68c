import assert from 'node:assert/strict';
import { type Browser, chromium } from 'playwright-core';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { findCommand } from '../debian-packages.js';

/**
 * Starts the headless shell of Chromium: the same engine without windows and PDF viewer, which takes about half of the
 * CPU time. Starts Chromium itself if the shell is not installed.
 */
export function launchBrowser(): Promise<Browser> {
  assertDeclared('browser');
  return launch(findCommand('chromium-headless-shell') ?? findCommand('chromium'));
}

/** Starts Chromium without a window, with its PDF viewer. */
export function launchChromium(): Promise<Browser> {
  assertDeclared('chromium');
  return launch(findCommand('chromium'));
}

/** Starts a browser with a temporary profile. */
function launch(program: string | undefined): Promise<Browser> {
  assert.ok(program !== undefined, 'Chromium is installed.');
  // Neither a page nor the browser itself reaches another machine. Names for tests (RFC 6761) are this one.
  const rules = ['MAP *.test 127.0.0.1', 'MAP * ~NOTFOUND', 'EXCLUDE 127.*', 'EXCLUDE localhost'];
  const args = [...FLAGS, `--host-resolver-rules=${rules.join(', ')}`];
  // In the locale POSIX, the browser can't open files with other names than ASCII.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  return chromium.launch({ executablePath: program, headless: true, chromiumSandbox: false, args, env });
}

/**
 * Flags in addition to those of Playwright. With the lowest limit of renderer processes, the browser starts none in
 * advance, which takes a tenth of the time of each page.
 */
const FLAGS = ['--disable-gpu', '--disable-quic', '--no-proxy-server', '--renderer-process-limit=1'];
