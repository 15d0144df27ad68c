import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DavError } from '../../src/http/dav/dav-error.ts';
import { lockTokensIn, parseIf } from '../../src/http/dav/if-header.ts';

const UUID = '0b2f7d0e-52a5-4d3c-9a10-8c7f0b1de0a4';
const TOKEN = `<urn:uuid:${UUID}>`;
const token = { kind: 'token', value: `urn:uuid:${UUID}`, isNegated: false };
const etag = (value: string) => ({ kind: 'etag', value, isNegated: false });

describe('The header If', () => {
  it('is parsed in every form of the standard', () => {
    for (const [header, expected] of [
      [`(${TOKEN})`, [{ url: undefined, conditions: [token] }]],
      [`(${TOKEN} ["a b)("])`, [{ url: undefined, conditions: [token, etag('"a b)("')] }]],
      [`( Not ${TOKEN} )`, [{ url: undefined, conditions: [{ ...token, isNegated: true }] }]],
      [
        `(not<DAV:no-lock>)`,
        [{ url: undefined, conditions: [{ kind: 'token', value: 'DAV:no-lock', isNegated: true }] }],
      ],
      [
        `(["x"]) ( [W/"y"])`,
        [
          { url: undefined, conditions: [etag('"x"')] },
          { url: undefined, conditions: [etag('W/"y"')] },
        ],
      ],
      [
        `<http://h/a> (${TOKEN}) (Not ["x"]) </b>\t(${TOKEN})`,
        [
          { url: 'http://h/a', conditions: [token] },
          { url: 'http://h/a', conditions: [{ ...etag('"x"'), isNegated: true }] },
          { url: '/b', conditions: [token] },
        ],
      ],
      // Litmus and Office send them without spaces.
      [`<http://h/a>(${TOKEN}["x"])`, [{ url: 'http://h/a', conditions: [token, etag('"x"')] }]],
    ] as const) {
      assert.deepEqual(parseIf(header), expected, header);
    }
  });

  it('is refused if it is malformed', () => {
    for (const header of [
      '',
      ' ',
      '()',
      '(',
      `(${TOKEN}`,
      TOKEN,
      `${TOKEN} ${TOKEN} (${TOKEN})`,
      `(${TOKEN}) </untagged> (${TOKEN})`,
      '(["x)',
      '([x])',
      '(Not)',
      '(Not Not <a>)',
      '(<a b>)',
      '(nothing)',
      `(${TOKEN}) trailing`,
      `(${'<a>'.repeat(101)})`,
    ]) {
      assert.throws(
        () => parseIf(header),
        (error) => error instanceof DavError && error.status === 400,
        header,
      );
    }
  });

  it('says which locks the request holds, also where a condition is negated', () => {
    const other = UUID.replace('0b', '1c');
    const lists = parseIf(`</a> (${TOKEN} ["x"]) (Not <URN:UUID:${other.toUpperCase()}>) </b> (<DAV:no-lock>)`);
    assert.deepEqual(lockTokensIn(lists), new Set([UUID, other]));
  });

  it('is parsed in linear time', () => {
    for (const header of [
      `(${'['.repeat(15_000)}`,
      `(${'<'.repeat(15_000)}`,
      ' '.repeat(15_000),
      `(${'Not '.repeat(4000)}`,
    ]) {
      assert.throws(() => parseIf(header), DavError);
    }
  });
});
