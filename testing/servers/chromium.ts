import { type Browser, chromium } from 'playwright-core';
import { assertDeclared } from '../../tests/runner/declared.ts';

/**
 * Starts Debian's Chromium without a window, with a profile of its own that goes when it is closed. For it, `names` are
 * names of this machine, beside `localhost`.
 */
export function launchChromium({ names = [] }: { readonly names?: readonly string[] } = {}): Promise<Browser> {
  assertDeclared('browser');
  // Whatever a page or the browser itself asks for, nothing leaves this machine.
  const rules = [
    ...names.map((name) => `MAP ${name} 127.0.0.1`),
    'MAP * ~NOTFOUND',
    'EXCLUDE 127.0.0.1',
    'EXCLUDE localhost',
  ];
  const args = [...FLAGS, `--host-resolver-rules=${rules.join(', ')}`];
  return chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args });
}

const CHROMIUM = '/usr/bin/chromium';

/**
 * Beside those that Playwright has for every test: no first run, no updates, no synchronisation, no sandbox. At the limit
 * of its processes the browser starts none in advance, which each page would pay for with a tenth of its time.
 */
const FLAGS = ['--disable-gpu', '--disable-quic', '--no-proxy-server', '--renderer-process-limit=1'];
