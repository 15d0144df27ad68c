import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Colorize, createLogger, formatBanner, formatForTerminal } from '../../src/observability/log.ts';

const plain: Colorize = (_style, text) => text;

/** Returns what a logger writes. */
function log(write: (logger: ReturnType<typeof createLogger>) => void): string {
  let text = '';
  write(createLogger('trace', (line) => void (text += line)));
  return text;
}

const format = (write: Parameters<typeof log>[0]) => formatForTerminal(log(write), plain);

describe('A log line in JSON', () => {
  it('has the name of the level and a time in ISO 8601', () => {
    const { level, time, pid, msg, attempts } = JSON.parse(log((logger) => logger.warn({ attempts: 2 }, 'Busy')));
    assert.deepEqual([level, pid, msg, attempts], ['warn', process.pid, 'Busy', 2]);
    assert.equal(new Date(time).toISOString(), time);
  });
});

describe('A log line on a terminal', () => {
  it('has the local time, the level, the message and the other members', () => {
    const text = format((logger) => logger.error({ worker: 7, file: 'a b', user: null, path: 'é.jpg' }, 'Worker died'));
    assert.match(text, /^\d\d:\d\d:\d\d ERROR Worker died worker=7 file="a b" path=é\.jpg\n$/);
  });

  it('describes a request', () => {
    const request = {
      method: 'GET',
      route: '/*',
      path: '/a',
      status: 200,
      bytes: 5,
      milliseconds: 1.5,
      requestId: 'x',
    };
    assert.match(
      format((logger) => logger.info(request, 'request')),
      /^\S+ INFO {2}GET \/a 200, 1\.5 ms, 5 bytes requestId=x\n$/,
    );
  });

  it('shows the stack of an error with its causes on indented lines', () => {
    const error = new Error('Reading failed', { cause: new Error('disk on fire') });
    const [first, ...stack] = format((logger) => logger.error({ err: error }, 'A request failed.')).split('\n');
    assert.match(first ?? '', /ERROR A request failed\.$/);
    assert.match(stack.join('\n'), /^ {4}Error: Reading failed/);
    assert.match(stack.join('\n'), /disk on fire/);
    for (const line of stack.slice(0, -1)) assert.match(line, /^ {4}\S| {8}at /);
  });

  it('shows lines of the audit log', () => {
    const line = { time: '2026-11-24T03:48:07.000Z', audit: 'change', who: null, action: 'upload', path: 'a"b' };
    assert.match(formatForTerminal(JSON.stringify(line), plain), /^\S+ AUDIT change action=upload path="a\\"b"\n$/);
  });

  for (const hostile of ['a\nb', '\u001b[31m', '\u0000', '\u009b1m', '\u202egpj', '\u2028', 'a\rb', '\u007f']) {
    it(`escapes ${JSON.stringify(hostile)} everywhere`, () => {
      const error = new Error(hostile);
      const text = format((logger) =>
        logger.warn({ err: error, [hostile]: hostile, nested: [{ hostile }], requestId: hostile }, hostile),
      );
      const withoutStack = text.split('\n').filter((line) => !line.startsWith('    '));
      assert.equal(withoutStack.length, 2, 'One line, and the end of the text.');
      assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}|[\u2028-\u202e]/u);
      const path = format((logger) => logger.info({ method: hostile, path: hostile, status: 400 }, 'request'));
      assert.doesNotMatch(path.slice(0, -1), /\p{Cc}|[\u2028-\u202e]/u);
    });
  }
});

describe('The banner', () => {
  it('shows the URL, the store and the access mode', () => {
    const ready = {
      url: 'http://127.0.0.1:8080',
      serves: '/a\u001b',
      access: 'open',
      version: '1.2.3',
      commit: null,
      workers: 2,
    };
    assert.equal(
      formatBanner(ready, plain),
      '\n  Holdall 1.2.3 is ready. Press Ctrl+C to stop it.\n\n  URL     http://127.0.0.1:8080\n  Files   /a\\u001b\n  Access  open\n\n',
    );
  });
});
