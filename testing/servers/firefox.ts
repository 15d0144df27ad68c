import assert from 'node:assert/strict';
import { type KeyInput, launch } from 'puppeteer-core';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { findCommand } from '../debian-packages.js';
import type { Engine } from './engine.ts';

/** Starts Firefox without a window and with a temporary profile. WebDriver BiDi controls it. */
export async function launchFirefox(): Promise<Engine> {
  assertDeclared('firefox');
  const executablePath = findCommand('firefox-esr');
  assert.ok(executablePath !== undefined, 'Firefox is installed.');
  const browser = await launch({ browser: 'firefox', executablePath, headless: true, extraPrefsFirefox: PREFERENCES });
  // The page that Firefox opens by itself never gets the focus.
  const page = await browser.newPage();
  await page.bringToFront();
  const errors: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  return {
    errors,
    open: async (url) => void (await page.goto(url)),
    resize: (width, height) => page.setViewport({ width, height }),
    click: (selector) => page.locator(selector).click(),
    async press(...keys) {
      for (const each of keys) {
        // Names keys like Puppeteer.
        const held = each.split('+') as KeyInput[];
        for (const key of held) await page.keyboard.down(key);
        for (const key of held.toReversed()) await page.keyboard.up(key);
      }
    },
    type: (text) => page.keyboard.type(text),
    async chooseFiles(paths) {
      const input = await page.$('input[type="file"]');
      assert.ok(input, 'The page has an input for files.');
      await input.uploadFile(...paths);
    },
    evaluate: (expression) => page.evaluate(expression),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Firefox itself sends no requests to other machines, and uses no animations. */
const PREFERENCES = {
  'network.proxy.type': 1,
  'network.proxy.socks': '127.0.0.1',
  'network.proxy.socks_port': 9,
  'network.proxy.no_proxies_on': '127.0.0.1',
  'ui.prefersReducedMotion': 1,
};
