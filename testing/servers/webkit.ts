import assert from 'node:assert/strict';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { type OwnedProcess, start } from '../processes.ts';
import { until } from '../until.ts';
import { acceptsConnections } from './accepts-connections.ts';
import type { Engine } from './engine.ts';
import { findFreePort } from './free-port.ts';

/** Starts WebKitGTK on a display of its own. W3C WebDriver controls it: https://www.w3.org/TR/webdriver2/. */
export async function launchWebKit(): Promise<Engine> {
  assertDeclared('webkit');
  const display = start({ file: 'Xvfb', args: ['-displayfd', '1', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'] });
  const number = await until('Xvfb writes its display', () => /^\d+$/m.exec(display.lastOutput())?.[0]);
  const port = await findFreePort();
  const driver = start({ file: 'WebKitWebDriver', args: [`--port=${port}`], env: { DISPLAY: `:${number}` } });
  const stop = async () => {
    await driver.stop();
    await display.stop();
  };
  try {
    await untilListening(driver, port);
    const driverUrl = `http://127.0.0.1:${port}`;
    const session = await send('POST', `${driverUrl}/session`, { capabilities: { alwaysMatch: {} } });
    assert.ok(isObject(session) && typeof session['sessionId'] === 'string');
    return new WebKit(`${driverUrl}/session/${session['sessionId']}`, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function untilListening(driver: OwnedProcess, port: number): Promise<void> {
  let ending: string | undefined;
  const watch = async () => {
    ending = (await driver.ended).description;
  };
  void watch();
  await until('the driver of WebKit accepts connections', () => {
    assert.equal(ending, undefined, driver.lastOutput());
    return acceptsConnections(port);
  });
}

class WebKit implements Engine {
  readonly errors: readonly string[] = [];
  readonly #session: string;
  readonly #stop: () => Promise<void>;

  constructor(session: string, stop: () => Promise<void>) {
    this.#session = session;
    this.#stop = stop;
  }

  async open(url: string): Promise<void> {
    await this.#post('/url', { url });
  }

  async resize(width: number, height: number): Promise<void> {
    await this.#post('/window/rect', { width, height });
  }

  async click(selector: string): Promise<void> {
    await until(`"${selector}" is clicked`, async () => {
      if ((await this.evaluate(isStable(selector))) !== true) return false;
      try {
        await this.#post(`${await this.#find(selector)}/click`, {});
        return true;
      } catch (error) {
        if (error instanceof WebDriverError && NOT_CLICKED.has(error.code)) return false;
        throw error;
      }
    });
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const each of keys) {
      const held = each.split('+').map((key) => KEYS[key] ?? key);
      await this.#act([
        ...held.map((value) => ({ type: 'keyDown', value })),
        ...held.toReversed().map((value) => ({ type: 'keyUp', value })),
      ]);
    }
  }

  async type(text: string): Promise<void> {
    await this.#act(Array.from(text).flatMap((value) => ['keyDown', 'keyUp'].map((type) => ({ type, value }))));
  }

  async chooseFiles(paths: readonly string[]): Promise<void> {
    await this.#post(`${await this.#find('input[type="file"]')}/value`, { text: paths.join('\n') });
  }

  evaluate(expression: string): Promise<unknown> {
    return this.#post('/execute/sync', { script: `return (${expression})`, args: [] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await send('DELETE', this.#session);
    } finally {
      await this.#stop();
    }
  }

  #post(path: string, body: object): Promise<unknown> {
    return send('POST', this.#session + path, body);
  }

  #act(actions: readonly object[]): Promise<unknown> {
    return this.#post('/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  async #find(selector: string): Promise<string> {
    const found = await this.#post('/element', { using: 'css selector', value: selector });
    assert.ok(isObject(found));
    return `/element/${String(found[ELEMENT])}`;
  }
}

/** Returns an expression: whether an element exists and is at the same position in two successive frames. */
const isStable = (selector: string) => `new Promise((resolve) => {
  const position = () => JSON.stringify(document.querySelector(${JSON.stringify(selector)})?.getBoundingClientRect());
  requestAnimationFrame(() => {
    const before = position();
    requestAnimationFrame(() => resolve(before !== undefined && position() === before));
  });
})`;

/** The errors of a click on an element that is not ready: https://www.w3.org/TR/webdriver2/#element-click. */
const NOT_CLICKED: ReadonlySet<string> = new Set([
  'element click intercepted',
  'element not interactable',
  'no such element',
  'stale element reference',
]);

/** The key of an element's id: https://www.w3.org/TR/webdriver2/#elements. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

/** The characters that stand for keys: https://www.w3.org/TR/webdriver2/#keyboard-actions. */
const KEYS: Readonly<Record<string, string>> = {
  Alt: '\uE00A',
  ArrowDown: '\uE015',
  ArrowUp: '\uE013',
  Control: '\uE009',
  Delete: '\uE017',
  End: '\uE010',
  Enter: '\uE007',
  Escape: '\uE00C',
  F2: '\uE032',
  Home: '\uE011',
  Shift: '\uE008',
};

class WebDriverError extends Error {
  /** https://www.w3.org/TR/webdriver2/#errors */
  readonly code: string;

  constructor(command: string, value: unknown) {
    super(`WebKit refused ${command}: ${JSON.stringify(value)}`);
    this.code = isObject(value) ? String(value['error']) : '';
  }
}

/**
 * Sends a command, and returns its value.
 *
 * @throws WebDriverError if the driver refuses it
 */
async function send(method: 'POST' | 'DELETE', url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, { method, ...(body && { body: JSON.stringify(body) }) });
  const json: unknown = await response.json();
  const value = isObject(json) ? json['value'] : undefined;
  if (!response.ok) throw new WebDriverError(`${method} ${new URL(url).pathname}`, value);
  return value;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
