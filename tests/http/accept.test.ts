import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptsExplicitly, preferredCoding, prefers } from '../../src/http/accept.ts';

describe('prefers', () => {
  for (const [accept, isHtml] of [
    // The `Accept` headers of browsers for a page: Firefox, Chrome, Safari.
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', true],
    [
      'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
      true,
    ],
    ['text/html', true],
    ['TEXT/HTML', true],
    ['text/*', true],
    ['text/html;level=1', true],
    ['text/html; charset=utf-8', true],
    ['text/html, */*', true],
    ['text/*, */*;q=0.9', true],
    ['text/html;q=0.1', true],
    ['text/html;q=.2', true],
    ['text/html, application/json;q=0.9', true],
    ['application/json;q=0.9, text/html', true],
    ['application/*;q=0.9, text/html', true],
    ['*/*, application/json;q=0.5', true],
    ['*, application/json;q=0.5', true],
    ['application/json;q=0, */*', true],
    // The `Accept` headers of programs: curl, fetch, scripts.
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['*', false],
    ['application/json', false],
    ['application/json, text/plain, */*', false],
    ['application/json, text/html;q=0.9', false],
    ['application/json, text/html', false],
    ['text/html, application/json', false],
    ['text/html;q=0.5, application/json;q=0.5', false],
    ['text/html;q=0.8, */*', false],
    ['text/html;q=0.5, application/*;q=0.6', false],
    ['text/html;q=0', false],
    ['text/html;q=0, */*', false],
    ['text/html;q=0.000, text/*', false],
    ['text/*;q=0.5, application/json', false],
    ['text/html;q=much', false],
    ['text/html;q=2', false],
    ['text/htmlx', false],
    ['application/xhtml+xml', false],
    ['image/png', false],
    [',,;q=1,', false],
  ] as const) {
    it(`${isHtml ? 'HTML' : 'JSON'} for Accept: ${accept ?? '(none)'}`, () =>
      assert.equal(prefers(accept, 'text/html', 'application/json'), isHtml));
  }
});

describe('preferredCoding', () => {
  for (const [acceptEncoding, coding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['deflate', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const) {
    it(`${coding ?? 'none'} for Accept-Encoding: ${acceptEncoding ?? '(none)'}`, () =>
      assert.equal(preferredCoding(acceptEncoding, ['br', 'gzip']), coding));
  }
});

describe('acceptsExplicitly', () => {
  it('is true for a client that names the type itself with a weight above 0', () => {
    const type = 'application/x-ndjson';
    for (const [accept, accepts] of [
      [undefined, false],
      ['', false],
      ['*/*', false],
      ['application/*', false],
      ['application/json', false],
      ['application/x-ndjson', true],
      ['Application/X-NDJSON', true],
      [' application/x-ndjson ', true],
      ['text/html, application/x-ndjson;q=0.1, */*', true],
      ['application/x-ndjson; charset=utf-8', true],
      ['application/x-ndjson;q=0', false],
      ['application/x-ndjson; Q=0.000', false],
      ['application/x-ndjson;q=0.001', true],
      ['application/x-ndjsonx', false],
      ['x-application/x-ndjson', false],
    ] as const) {
      assert.equal(acceptsExplicitly(accept, type), accepts, String(accept));
    }
  });
});
