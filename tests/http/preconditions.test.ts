import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  allowsRange,
  evaluatePreconditions,
  hasPreconditions,
  lastModified,
  quoteEtag,
  requirePreconditions,
  type Verdict,
  writeCondition,
} from '../../src/http/preconditions.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';

const FILE = { etag: 'abc', modified: new Date('2026-11-20T09:30:00.750Z') };
const AT = 'Fri, 20 Nov 2026 09:30:00 GMT';
const BEFORE = 'Fri, 20 Nov 2026 09:29:59 GMT';
const AFTER = 'Fri, 20 Nov 2026 09:30:01 GMT';

/** Invalid HTTP dates that a lenient parser accepts. They must be ignored (RFC 9110, section 13.1.3). */
const NO_DATES = [
  '',
  'yesterday',
  '2026-11-20T09:30:00Z',
  '1795167000',
  'Fri, 20 Nov 2026 09:30:01',
  'Fri, 20 Nov 2026 09:30:01 PST',
  'Fri, 20 Nov 2026 09:30:01 +0000',
  'Fri, 31 Feb 2099 09:30:01 GMT',
  'Fri, 20 Nov 2099 25:00:00 GMT',
  'Fri, 20 Foo 2099 09:30:01 GMT',
  'Junk 2099',
  'Nov 20 2099',
];

type Case = readonly [what: string, headers: Record<string, string>, verdict: Verdict];

const check = (cases: readonly Case[], file: Parameters<typeof evaluatePreconditions>[1] = FILE) => {
  for (const [what, headers, verdict] of cases) assert.equal(evaluatePreconditions(headers, file), verdict, what);
};

describe('If-Match (RFC 9110, section 13.1.1)', () => {
  it('compares strongly with one ETag, several, or any', () => {
    check([
      ['none', {}, 'proceed'],
      ['the same', { 'if-match': '"abc"' }, 'proceed'],
      ['another', { 'if-match': '"abd"' }, 'failed'],
      ['one of several', { 'if-match': '"x", "abc" , "y"' }, 'proceed'],
      ['none of several', { 'if-match': '"x", "y"' }, 'failed'],
      ['any', { 'if-match': '*' }, 'proceed'],
      ['a weak one', { 'if-match': 'W/"abc"' }, 'failed'],
      ['without quotes', { 'if-match': 'abc' }, 'failed'],
      ['a part', { 'if-match': '"ab"' }, 'failed'],
      ['with a comma in it', { 'if-match': '"x,abc"' }, 'failed'],
      ['empty', { 'if-match': '' }, 'failed'],
    ]);
  });

  it('takes precedence over If-Unmodified-Since', () => {
    check([
      ['both hold', { 'if-match': '"abc"', 'if-unmodified-since': BEFORE }, 'proceed'],
      ['the etag does not', { 'if-match': '"x"', 'if-unmodified-since': AFTER }, 'failed'],
    ]);
  });
});

describe('If-None-Match (section 13.1.2)', () => {
  it('compares weakly with one ETag, several, or any', () => {
    check([
      ['the same', { 'if-none-match': '"abc"' }, 'not-modified'],
      ['a weak one', { 'if-none-match': 'W/"abc"' }, 'not-modified'],
      ['another', { 'if-none-match': '"abd"' }, 'proceed'],
      ['one of several', { 'if-none-match': '"x",W/"abc","y"' }, 'not-modified'],
      ['any', { 'if-none-match': '*' }, 'not-modified'],
      ['without quotes', { 'if-none-match': 'abc' }, 'proceed'],
      ['with a comma in it', { 'if-none-match': '"x,abc"' }, 'proceed'],
      ['empty', { 'if-none-match': '' }, 'proceed'],
    ]);
    check([['with a comma of its own', { 'if-none-match': '"a,b", "c"' }, 'not-modified']], { ...FILE, etag: 'a,b' });
  });

  it('takes precedence over If-Modified-Since', () => {
    check([
      ['another etag, not later', { 'if-none-match': '"x"', 'if-modified-since': AFTER }, 'proceed'],
      ['the same etag, later', { 'if-none-match': '"abc"', 'if-modified-since': BEFORE }, 'not-modified'],
    ]);
  });

  it('is evaluated after If-Match and If-Unmodified-Since', () => {
    check([
      ['If-Match fails', { 'if-match': '"x"', 'if-none-match': '"abc"' }, 'failed'],
      ['If-Unmodified-Since fails', { 'if-unmodified-since': BEFORE, 'if-none-match': '"abc"' }, 'failed'],
      ['both hold', { 'if-match': '"abc"', 'if-none-match': '"abc"' }, 'not-modified'],
    ]);
  });
});

describe('If-Modified-Since and If-Unmodified-Since (sections 13.1.3 and 13.1.4)', () => {
  it('have a resolution of one second', () => {
    check([
      ['modified at it', { 'if-modified-since': AT }, 'not-modified'],
      ['modified before it', { 'if-modified-since': AFTER }, 'not-modified'],
      ['modified after it', { 'if-modified-since': BEFORE }, 'proceed'],
      ['unmodified since then', { 'if-unmodified-since': AT }, 'proceed'],
      ['unmodified since later', { 'if-unmodified-since': AFTER }, 'proceed'],
      ['modified since', { 'if-unmodified-since': BEFORE }, 'failed'],
    ]);
  });

  it('accept the three date formats of HTTP in GMT, in any local time zone', (test) => {
    const zone = process.env['TZ'];
    test.after(() => {
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
    });
    for (const place of ['UTC', 'America/New_York', 'Pacific/Kiritimati']) {
      process.env['TZ'] = place;
      for (const [at, before] of [
        [AT, BEFORE],
        ['Friday, 20-Nov-26 09:30:00 GMT', 'Friday, 20-Nov-26 09:29:59 GMT'],
        ['Fri Nov 20 09:30:00 2026', 'Fri Nov 20 09:29:59 2026'],
      ] as const) {
        check([
          [`${place}: ${at}`, { 'if-modified-since': at }, 'not-modified'],
          [`${place}: ${before}`, { 'if-modified-since': before }, 'proceed'],
          [`${place}: ${at}`, { 'if-unmodified-since': at }, 'proceed'],
          [`${place}: ${before}`, { 'if-unmodified-since': before }, 'failed'],
        ]);
      }
    }
    check([['a day of one digit', { 'if-modified-since': 'Sun Nov  6 08:49:37 2033' }, 'not-modified']]);
    check([['a year of two digits long ago', { 'if-unmodified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 'failed']]);
  });

  it('are ignored if they are not HTTP dates', () => {
    check(NO_DATES.map((date) => [`since ${date}`, { 'if-modified-since': date }, 'proceed']));
    check(NO_DATES.map((date) => [`since ${date}`, { 'if-unmodified-since': date }, 'proceed']));
  });

  it('are ignored if the modification time is unknown', () => {
    const unknown = { ...FILE, modified: null };
    check([['modified', { 'if-modified-since': AFTER }, 'proceed']], unknown);
    check([['unmodified', { 'if-unmodified-since': BEFORE }, 'proceed']], unknown);
  });
});

describe('hasPreconditions', () => {
  it('is true for each of the four headers, and for no other', () => {
    for (const name of ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']) {
      assert.equal(hasPreconditions({ [name]: '' }), true, name);
    }
    assert.equal(hasPreconditions({ 'if-range': '"abc"', range: 'bytes=0-', accept: '*/*' }), false);
  });
});

describe('The dates of a file with a client-set modification time', () => {
  const dated = { ...FILE, changed: new Date('2026-11-21T12:00:00Z') };
  const ARRIVAL = 'Sat, 21 Nov 2026 12:00:00 GMT';

  it('prove nothing between the set time and the arrival of the version', () => {
    check(
      [
        ['its own', { 'if-modified-since': AT }, 'not-modified'],
        ['that of a version it replaced', { 'if-modified-since': AFTER }, 'proceed'],
        ['earlier', { 'if-modified-since': BEFORE }, 'proceed'],
        ['its arrival', { 'if-modified-since': ARRIVAL }, 'not-modified'],
        ['its own, unmodified', { 'if-unmodified-since': AT }, 'proceed'],
        ['that of a version it replaced, unmodified', { 'if-unmodified-since': AFTER }, 'failed'],
        ['its arrival, unmodified', { 'if-unmodified-since': ARRIVAL }, 'proceed'],
      ],
      dated,
    );
  });

  it('do not permit a range, because another version can have the same date', () => {
    assert.equal(allowsRange(AT, dated), false);
    assert.equal(allowsRange(quoteEtag(dated.etag), dated), true);
  });

  it('are never sent if they are in the future', () => {
    const [future, past] = [new Date('2999-01-01T00:00:00Z'), new Date('2020-01-01T00:00:00Z')];
    assert.equal(lastModified({ modified: null }), null);
    assert.equal(lastModified({ modified: past, changed: future }), past);
    assert.equal(lastModified({ modified: future, changed: past }), past);
    for (const changed of [undefined, future]) {
      const sent = lastModified({ modified: future, ...(changed && { changed }) });
      assert.ok(sent && sent <= new Date());
    }
  });
});

describe('If-Range (section 13.1.5)', () => {
  it('permits a range only for the same version', () => {
    for (const [header, allowed] of [
      [undefined, true],
      ['"abc"', true],
      ['"abd"', false],
      ['W/"abc"', false],
      ['abc', false],
      ['*', false],
      ['"abc", "abd"', false],
      [AT, true],
      [BEFORE, false],
      [AFTER, false],
      ...NO_DATES.map((date) => [date, false] as const),
    ] as const) {
      assert.equal(allowsRange(header, FILE), allowed, String(header));
    }
    assert.equal(allowsRange(AT, { ...FILE, modified: null }), false);
  });
});

describe('The condition of a change', () => {
  const present = { kind: 'file', path: parseFile('a/b'), size: 1, type: 'text/plain', ...FILE } as const;
  const folder = { kind: 'folder', path: parseFolder('a/') } as const;
  const find = async () => ({ entry: present, isReadable: true });
  const findNone = async () => ({ entry: undefined, isReadable: true });
  const findUnused = () => assert.fail('the file was looked up');

  it('is passed to the store without a lookup if the store can check it', async () => {
    for (const [headers, condition] of [
      [{}, undefined],
      [{ 'if-none-match': '*' }, 'absent'],
      [{ 'if-none-match': ' * ' }, 'absent'],
      [{ 'if-match': '"abc"' }, { etag: 'abc' }],
      [{ 'if-match': ' "a,b" ' }, { etag: 'a,b' }],
      [{ 'if-match': '"abc"', 'if-unmodified-since': BEFORE }, { etag: 'abc' }],
      [{ 'if-modified-since': AT }, undefined],
      [{ range: 'bytes=0-1' }, undefined],
      [{ 'if-none-match': 'JoplinIgnore-12345' }, undefined],
      [{ 'if-none-match': '' }, undefined],
    ] as const) {
      assert.deepEqual(await writeCondition(headers, findUnused), condition, JSON.stringify(headers));
    }
  });

  it('limits a write to the version for which the preconditions hold', async () => {
    for (const headers of [
      { 'if-match': '*' },
      { 'if-match': '"x", "abc" , "y"' },
      { 'if-match': '"abc"', 'if-none-match': 'JoplinIgnore-12345' },
      { 'if-none-match': '"x", W/"y"' },
      { 'if-none-match': '"abc' },
      { 'if-unmodified-since': AT },
      { 'if-unmodified-since': 'yesterday' },
      { 'if-match': '*', 'if-none-match': '"x"', 'if-unmodified-since': BEFORE },
    ]) {
      const condition = await writeCondition(headers, find);
      assert.ok(condition === undefined || (typeof condition === 'object' && condition.etag === 'abc'));
    }
    for (const headers of [{ 'if-none-match': '"abc"' }, { 'if-unmodified-since': BEFORE }]) {
      assert.equal(await writeCondition(headers, findNone), 'absent');
    }
  });

  it('fails if the file is another one, or is missing', async () => {
    for (const [found, headers] of [
      [present, { 'if-match': 'W/"abc"' }],
      [present, { 'if-match': 'abc' }],
      [present, { 'if-match': '' }],
      [present, { 'if-match': '"x", "y"' }],
      [present, { 'if-match': '"x", *' }],
      [present, { 'if-match': '"ä"' }],
      [present, { 'if-none-match': '"abc"' }],
      [present, { 'if-none-match': '"x", W/"abc"' }],
      [present, { 'if-none-match': '*, *' }],
      [present, { 'if-match': '"abc"', 'if-none-match': '*' }],
      [present, { 'if-unmodified-since': BEFORE }],
      [undefined, { 'if-match': '*' }],
      [undefined, { 'if-match': '"x", "y"' }],
      [undefined, { 'if-match': '"abc"', 'if-none-match': '*' }],
      [folder, { 'if-match': '"abc", "x"' }],
      [folder, { 'if-none-match': '*', 'if-unmodified-since': AT }],
    ] as const) {
      const failed = { name: 'HttpError', code: 'condition-failed' };
      await assert.rejects(
        writeCondition(headers, async () => ({ entry: found, isReadable: true })),
        failed,
        JSON.stringify(headers),
      );
    }
  });

  it('ignores If-Modified-Since, which is only for reads (section 13.1.3)', () => {
    requirePreconditions({ 'if-modified-since': AFTER }, present);
  });
});

it('quotes an ETag', () => {
  assert.equal(quoteEtag('abc'), '"abc"');
});

describe('The error of a condition that fails', () => {
  it('names what the condition was compared with', () => {
    const file = { kind: 'file', path: parseFile('a'), size: 1, type: 'text/plain', ...FILE } as const;
    const folder = { kind: 'folder', path: parseFolder('b/') } as const;
    for (const [headers, present, expected] of [
      [{ 'if-match': '"x"' }, file, 'the ETag of "a" is "abc"'],
      [{ 'if-none-match': '*' }, file, 'the ETag of "a" is "abc"'],
      [{ 'if-unmodified-since': BEFORE }, file, `"a" changed on ${AT}`],
      [{ 'if-unmodified-since': BEFORE }, { ...file, changed: new Date(AFTER) }, `"a" changed on ${AFTER}`],
      [{ 'if-match': '"x"' }, folder, '"b/" is a folder, which has no ETag'],
      [{ 'if-none-match': '*' }, folder, 'the folder "b/" exists'],
      [{ 'if-match': '*' }, undefined, 'the file or folder does not exist'],
    ] as const) {
      assert.throws(() => requirePreconditions(headers, present), {
        message: new RegExp(`does not hold: ${expected}\\.$`),
      });
    }
  });
});
