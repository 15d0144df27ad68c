import { type Browser, chromium } from 'playwright-core';

/** Starts Debian's Chromium without a window, with a profile of its own that goes when it is closed. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM, headless: true, chromiumSandbox: false, args: FLAGS });
}

const CHROMIUM = '/usr/bin/chromium';

/** Beside those that Playwright has for every test: no first run, no updates, no synchronisation, no sandbox. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  // Whatever a page or the browser itself asks for, nothing leaves this machine.
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];
