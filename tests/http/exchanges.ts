import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { afterEach } from 'node:test';

/** How many requests a failed test prints, with as many characters of each body. */
const SHOWN_EXCHANGES = 4;
const SHOWN_CHARACTERS = 2_000;

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body?: Buffer | string | undefined;
}

/** What has arrived of a response. */
export interface RecordedResponse {
  headers(response: IncomingMessage): void;
  body(bytes: Buffer): void;
}

/** The last requests that the tests of this process sent, each with what arrived of its response. */
const exchanges: string[][] = [];

// For all tests of the process. Tests that run at the same time print the requests of each other, too.
afterEach((context) => {
  if ('passed' in context && !context.passed && exchanges.length > 0)
    process.stderr.write(
      `The last requests of "${context.name}", and their responses:\n${exchanges.flat().join('\n')}\n`,
    );
  exchanges.length = 0;
});

/** Keeps a request and its response, which a failing test prints. */
export function recordExchange({ method, path, headers, body }: RecordedRequest): RecordedResponse {
  const lines = [`> ${method} ${path}`, ...headerLines('>', headers), ...bodyLines(body)];
  exchanges.push(lines);
  if (exchanges.length > SHOWN_EXCHANGES) exchanges.shift();
  return {
    headers: (response) => void lines.push(`< ${response.statusCode}`, ...headerLines('<', response.headers)),
    body: (bytes) => void lines.push(...bodyLines(bytes)),
  };
}

const headerLines = (side: string, headers: OutgoingHttpHeaders | IncomingHttpHeaders) =>
  Object.entries(headers).map(([name, value]) => `${side} ${name}: ${String(value)}`);

function bodyLines(body: Buffer | string | undefined): string[] {
  if (body === undefined || body.length === 0) return [];
  const text = typeof body === 'string' ? body : body.toString('latin1', 0, SHOWN_CHARACTERS);
  // A terminal must not interpret what a hostile test sent.
  const shown = text.slice(0, SHOWN_CHARACTERS).replace(/[^\t\n\r\x20-\x7e]/g, '.');
  return [text.length < body.length || shown.length < text.length ? `${shown}… (${body.length} in all)` : shown];
}
