import * as fc from 'fast-check';

/** The bytes that a header can contain. */
const hostileValue: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    '*',
    ',',
    ';',
    '=',
    '"',
    '""',
    '"\\"',
    'a,b;c=d',
    '\t',
    'x'.repeat(3000),
    'é',
    '\xff\xfe',
    '%0d%0a',
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
  }),
);

const ETAGS = [
  '*',
  '"x"',
  'W/"x"',
  'x',
  '""',
  '"a", "b"',
  '"x',
  'W/x',
  '*, "x"',
  ',',
  '"\xff"',
  `"${'x'.repeat(2000)}"`,
];
const DATES = [
  'Sun, 06 Nov 1994 08:49:37 GMT',
  'Sunday, 06-Nov-94 08:49:37 GMT',
  'never',
  '0',
  '-1',
  'Fri, 31 Feb 2999 99:99:99 GMT',
];
const RANGES = [
  '0-',
  '0-0',
  '-0',
  '-1',
  '1-0',
  '5-2',
  '0-0,2-3',
  '',
  'a-b',
  '-',
  '9'.repeat(30).concat('-'),
  '0-'.concat('9'.repeat(30)),
  '0-,'.repeat(200),
];

/** Headers that the service reads, with values that are invalid for some of them. */
const KNOWN: Readonly<Record<string, readonly string[]>> = {
  Accept: [
    'text/html',
    'application/json',
    '*/*',
    'application/x-ndjson',
    'text/html;q=0',
    'text/html;q=NaN',
    ';;',
    'a/b/c',
    ',',
  ],
  'Accept-Encoding': ['gzip', 'br, gzip;q=0', 'identity;q=0, *;q=0', 'gzip;q=x'],
  Authorization: ['Basic', 'Basic !!!', 'Basic Og==', 'Bearer', 'Bearer x', 'Digest x="', 'Bearer a.b.c'],
  Connection: ['close', 'keep-alive', 'upgrade', 'content-length'],
  'Content-Encoding': ['gzip', 'identity', '', 'x'],
  'Content-Type': [
    'text/plain',
    'application/json; charset=utf-16',
    'multipart/form-data',
    'x',
    'application/jsonp',
    '/',
    '*/*',
  ],
  Cookie: ['holdall=x', 'holdall=', 'holdall="', '__Host-holdall=x', '=;=;', 'holdall=x; holdall=y'],
  Expect: ['100-continue', 'wonders'],
  Forwarded: ['for=1.2.3.4', 'for="'],
  Host: [
    '127.0.0.1',
    'localhost:99999',
    'evil.example',
    '[::1]',
    '',
    'a b',
    'localhost, localhost',
    'localhost/',
    '[::1',
  ],
  'If-Match': ETAGS,
  'If-None-Match': ETAGS,
  'If-Modified-Since': DATES,
  'If-Unmodified-Since': DATES,
  'If-Range': [...ETAGS, ...DATES],
  Origin: ['null', 'http://localhost', 'https://evil.example', 'x', '', 'file://'],
  // With `wait`, the response says what the job did. Without it, the job could change files after the next comparison.
  Prefer: ['quota', 'quota=1', 'respond-async, wait=10', '"'],
  Range: [...RANGES.map((range) => `bytes=${range}`), 'items=0-1', 'bytes', 'bytes:0-1', 'bytes = 0-1'],
  Referer: ['https://evil.example/', 'x'],
  'Sec-Fetch-Dest': ['script', 'document', 'image', 'x'],
  'Sec-Fetch-Mode': ['navigate', 'no-cors', 'x'],
  'Sec-Fetch-Site': ['cross-site', 'same-origin', 'none', 'x'],
  TE: ['trailers', 'gzip'],
  Traceparent: [
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-0-0-0',
    'ff-x',
    '00-' + '0'.repeat(32) + '-' + '0'.repeat(16) + '-00',
  ],
  Tracestate: ['a=b', '=', ','.repeat(100)],
  Upgrade: ['websocket', 'h2c'],
  'X-Forwarded-For': ['1.2.3.4', 'x', ','],
  'X-Forwarded-Host': ['evil.example'],
  'X-Forwarded-Proto': ['https', 'x'],
  'X-HTTP-Method-Override': ['DELETE'],
  'X-Request-Id': ['a', 'a b', 'x'.repeat(129), '<script>', '\xff'],
};

const knownHeader = fc
  .constantFrom(...Object.keys(KNOWN))
  .chain((name) =>
    fc.tuple(
      fc.constant(name),
      fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...(KNOWN[name] ?? [])) },
        { weight: 1, arbitrary: hostileValue },
      ),
    ),
  );
const unknownHeader = fc.tuple(fc.constantFrom('X-A', 'Proxy', '__proto__', 'constructor', 'A.b_c!'), hostileValue);

/** The name and the value of a header. */
export type Header = readonly [string, string];

/** Headers to add to a request. Some occur twice. */
export const hostileHeaders: fc.Arbitrary<Header[]> = fc.array(
  fc.oneof({ weight: 8, arbitrary: knownHeader }, { weight: 1, arbitrary: unknownHeader }),
  { maxLength: 4 },
);
