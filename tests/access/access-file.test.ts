import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseAccessFile } from '../../src/access/access-file.ts';
import { ACCESS_FILE_SCHEMA } from '../../src/access/access-file-schema.ts';
import { AccessFileError } from '../../src/access/access-file-syntax.ts';
import { hashToken } from '../../src/access/credentials.ts';
import { foldingNames } from '../../src/model/name-comparison.ts';
import { parseFile, ROOT } from '../../src/model/path.ts';

const KEY = 'k'.repeat(43);
const PASSWORD = `scrypt:N=32768,r=8,p=3:${'s'.repeat(22)}:${KEY}`;
const HASH = `sha256:${KEY}`;

/** Returns the mistakes in a text, or in a value as JSON. */
function mistakesIn(file: unknown): readonly string[] {
  try {
    parseAccessFile(typeof file === 'string' ? file : JSON.stringify(file));
  } catch (error) {
    assert.ok(error instanceof AccessFileError, String(error));
    return error.problems;
  }
  return [];
}

/** Returns the mistakes in the only user, or in the only grant, of an otherwise valid file. */
const mistakesInPerson = (person: unknown) => mistakesIn({ people: { ann: person }, grants: [] });
const mistakesInGrant = (grant: object) =>
  mistakesIn({ people: { ann: {} }, grants: [{ folder: '/', to: 'everyone', rights: [], ...grant }] });

describe('An access file', () => {
  it('defines users, groups, tokens and grants', () => {
    const text = JSON.stringify({
      $schema: 'access.schema.json',
      people: {
        ann: {
          password: PASSWORD,
          groups: ['family'],
          tokens: [
            { name: 'laptop', hash: hashToken('holdall_x'), expires: '2037-01-01T01:00:00+01:00' },
            { name: 'forever', hash: HASH },
          ],
        },
        'bob@example.org': { tokens: [{ name: 'phone', hash: hashToken('holdall_y') }] },
      },
      grants: [
        { folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] },
        { folder: '/photos/', to: { group: 'family' }, rights: ['read'] },
        { folder: 'inbox', to: 'everyone', rights: ['write'] },
        { folder: '/handbook', to: 'signed-in', rights: ['read'] },
      ],
    });
    const { policy, users, grants, warnings } = parseAccessFile(`\ufeff${text}`.slice(1));
    assert.deepEqual(warnings, []);
    assert.equal(users.length, 2);
    assert.deepEqual(
      grants.map(({ folder }) => folder),
      ['', 'photos/', 'inbox/', 'handbook/'],
    );
    assert.equal(policy.userEntry('ann')?.password, PASSWORD);
    assert.equal(policy.userEntry('bob@example.org')?.password, undefined);
    const found = policy.tokenOf(hashToken('holdall_x'));
    assert.deepEqual([found?.user.name, found?.token.name], ['ann', 'laptop']);
    assert.equal(found?.token.expires?.toISOString(), '2037-01-01T00:00:00.000Z');
    assert.equal(policy.tokenOf(HASH)?.token.expires, undefined);
    const bob = { name: 'bob@example.org', groups: [] };
    assert.ok(policy.allows({ name: 'ann', groups: [] }, 'manage', ROOT));
    assert.ok(policy.allows(bob, 'read', parseFile('handbook/a')));
    assert.ok(!policy.allows(bob, 'read', parseFile('photos/a')));
    assert.ok(policy.allows(undefined, 'write', parseFile('inbox/a')));
  });

  it('accepts names of Object.prototype properties', () => {
    const text = `{ "people": { "__proto__": { "groups": ["constructor"] }, "toString": {} },
      "grants": [{ "folder": "/", "to": { "person": "__proto__" }, "rights": ["read"] },
                 { "folder": "/a", "to": { "group": "constructor" }, "rights": ["write"] }] }`;
    const { policy, warnings } = parseAccessFile(text);
    assert.deepEqual(
      warnings.filter((note) => note.includes('group')),
      [],
    );
    assert.ok(policy.allows({ name: '__proto__', groups: [] }, 'read', ROOT));
    assert.ok(policy.allows({ name: '__proto__', groups: [] }, 'write', parseFile('a/b')));
    assert.ok(!policy.allows({ name: 'toString', groups: [] }, 'read', ROOT));
    assert.match(
      mistakesIn({ people: {}, grants: [{ folder: '/', to: { person: 'toString' }, rights: [] }] }).join(),
      /\(grants\[0\]\.to\.person\): must be a name in "people", not "toString"/,
    );
  });

  it('reports every error with its line and column, in file order and without secrets', () => {
    const text = `{
  "people": {
    "ann": {
      "password": "hunter2",
      "groups": "family",
      "tokens": [
        { "name": "laptop", "hash": "holdall_leaked", "expires": "2027-02-31T00:00:00Z" },
        { "name": "laptop", "hash": "${HASH}", "token": "holdall_leaked" }
      ]
    },
    "bob": { "tokens": [{ "name": "x", "hash": "${HASH}", "expires": "holdall_leaked" }] },
    "eve": "hunter2",
    "groups": "hunter2",
    "": {}
  },
  "grants": [
    { "folder": "a//b", "to": "nobody", "rights": ["read", "own"] },
    { "folder": "/a", "to": { "group": "g" }, "rights": [] },
    { "folder": "a/", "to": { "group": "g" }, "rights": ["read"] },
    { "folder": "/", "to": { "person": "zed" } }
  ],
  "grant": []
}`;
    const problems = mistakesIn(text);
    const places = problems.map((problem) =>
      /^line (\d+), column (\d+) \((.*?)\): \S/.exec(problem)?.slice(1).join(' '),
    );
    assert.deepEqual(places, [
      '4 19 people.ann.password',
      '5 17 people.ann.groups',
      '7 37 people.ann.tokens[0].hash',
      '7 66 people.ann.tokens[0].expires',
      '8 19 people.ann.tokens[1].name',
      '8 91 people.ann.tokens[1].token',
      '11 48 people.bob.tokens[0].hash',
      '11 113 people.bob.tokens[0].expires',
      '12 12 people.eve',
      '13 15 people.groups',
      '14 5 people[""]',
      '17 17 grants[0].folder',
      '17 31 grants[0].to',
      '17 60 grants[0].rights[1]',
      '19 5 grants[2]',
      '20 5 grants[3]',
      '20 40 grants[3].to.person',
      '22 3 grant',
    ]);
    assert.match(problems.join('\n'), /must be a time .*, not "2027-02-31T00:00:00Z"\./);
    assert.match(problems.join('\n'), /same folder and subject as the grant of line 18\./);
    assert.doesNotMatch(problems.join('\n'), /hunter2|leaked|kkkk/);
  });

  for (const [what, text, place] of [
    ['nothing', '', 'line 1, column 1: '],
    ['an end too early', '{\n "people": {', 'line 2, column 13: '],
    ['a comma before the end', '{\n "people": {},\n}', 'line 3, column 1: '],
    ['a comment', '{\r\n // who\r\n "grants": [] }', 'line 2, column 2: '],
    ['a key without quotes', '{ grants: [] }', 'line 1, column 3: '],
    ['a line break in a text', '{ "a\n": 1 }', 'line 1, column 3: '],
    ['more behind its end', '{ "grants": [] } x', 'line 1, column 18: '],
    ['brackets without an end', '['.repeat(200_000), 'line 1, column 1: '],
    ['a list', '[]', 'line 1, column 1: '],
    ['no grants', '{}', 'line 1, column 1: '],
    ['a text', '"secret"', 'line 1, column 1: '],
  ] as const) {
    it(`reports the position of the error in a file with ${what}`, () => {
      const [first = '', ...others] = mistakesIn(text);
      assert.ok(first.startsWith(place), first);
      for (const problem of [first, ...others]) assert.doesNotMatch(problem, /secret/);
    });
  }

  it('rejects duplicate keys on every level', () => {
    const text = '{"people":{"ann":{},"ann":{"groups":[],"groups":[]}},"people":{},"grants":[]}';
    assert.deepEqual(mistakesIn(text), [
      'line 1, column 21 (people.ann): occurs twice.',
      'line 1, column 40 (people.ann.groups): occurs twice.',
      'line 1, column 54 (people): occurs twice.',
    ]);
  });

  for (const expires of [
    '2027-01-01',
    '2027-01-01T00:00:00',
    'never',
    '',
    '2027-01-01T24:00:00Z',
    '1/1/2027',
    0,
    null,
  ]) {
    it(`rejects the token expiry ${JSON.stringify(expires)}`, () => {
      const [problem = '', ...others] = mistakesInPerson({ tokens: [{ name: 'a', hash: HASH, expires }] });
      assert.match(problem, /people\.ann\.tokens\[0\]\.expires\): must be a time/);
      assert.deepEqual(others, []);
    });
  }

  for (const name of ['', 'x'.repeat(201), 'a\nb', 'a\u007f', 'a\u0085', '\ud800']) {
    it(`rejects ${JSON.stringify(name.slice(0, 9))} as the name of a user, group or token`, () => {
      assert.equal(mistakesIn({ people: { [name]: {} }, grants: [] }).length, 1);
      assert.equal(mistakesInPerson({ groups: ['family', name] }).length, 1);
      assert.equal(mistakesInPerson({ tokens: [{ name, hash: HASH }] }).length, 1);
      assert.equal(mistakesInGrant({ to: { group: name } }).length, 1);
    });
  }

  it('accepts names of 200 characters, regardless of their size in bytes', () => {
    assert.deepEqual(mistakesIn({ people: { ['\u{1f600}'.repeat(200)]: {} }, grants: [] }), []);
  });

  for (const folder of ['a//b', '../a', 'a/./b', '//', 'a\0', 'x'.repeat(4096), 5, null]) {
    it(`rejects a grant for the folder ${JSON.stringify(folder).slice(0, 20)}`, () => {
      const problems = mistakesInGrant({ folder });
      assert.equal(problems.length, 1);
      assert.match(problems.join(), /grants\[0\]\.folder\): must be the path of a folder/);
    });
  }

  for (const to of ['ann', {}, { person: 'ann', group: 'x' }, { person: 5 }, ['everyone'], null, { everyone: true }]) {
    it(`rejects a grant to ${JSON.stringify(to)}`, () => {
      const problems = mistakesInGrant({ to });
      assert.equal(problems.length, 1, problems.join('\n'));
      assert.match(problems.join(), /grants\[0\]\.to\): must be \{ "person"/);
    });
  }

  it('warns about valid but probably unintended entries', () => {
    const { warnings } = parseAccessFile(
      JSON.stringify({
        people: {
          ann: {
            password: `scrypt:N=1024,r=1,p=1:${'s'.repeat(22)}:${KEY}`,
            tokens: [{ name: 'old', hash: HASH, expires: '2020-01-01T00:00:00Z' }],
          },
        },
        grants: [{ folder: '/', to: { group: 'famliy' }, rights: ['read'] }],
      }),
    );
    assert.equal(warnings.length, 3);
    assert.match(warnings.join('\n'), /"famliy" of line 1/);
    assert.match(warnings.join('\n'), /"old" of "ann" has expired/);
    assert.match(warnings.join('\n'), /password hash of "ann"/);
  });

  for (const [what, { people = {}, folder = '/' }, note] of [
    ['a * that matches nothing', { folder: '/*/' }, /^The \* in "\/\*\/" of line 1 is a literal character/],
    ['a * in a name', { folder: '/photos/2*' }, /^The \* in "\/photos\/2\*\/"/],
    ['a backslash', { folder: 'a\\b' }, /^The \\ in "\/a\\\\b\/" of line 1/],
    ["the service's own folder", { folder: '/.holdall/x' }, /^"\/\.holdall\/x\/" of line 1 is reserved/],
    ['a name that begins with a space', { folder: '/ a/b' }, /^A name in "\/ a\/b\/" of line 1 starts or ends/],
    ['a name that ends with a space', { folder: '/a/b ' }, /^A name in "\/a\/b \/"/],
    [
      'a username that Basic authentication does not support',
      { people: { 'a:b': { password: PASSWORD } } },
      /^"a:b" can't use/,
    ],
    ['a user without a password and tokens', { people: { ann: {} } }, /^"ann" has no password and no token/],
  ] as const) {
    it(`warns about ${what}`, () => {
      const { warnings } = parseAccessFile(
        JSON.stringify({ people, grants: [{ folder, to: 'everyone', rights: ['read'] }] }),
      );
      assert.equal(warnings.length, 1, warnings.join('\n'));
      assert.match(warnings.join(), note);
    });
  }

  it('does not warn about valid names that resemble mistakes', () => {
    for (const folder of ['/a b', '/.holdall-2', '/a/.holdall', 'a:b']) {
      const { warnings } = parseAccessFile(JSON.stringify({ grants: [{ folder, to: 'everyone', rights: ['read'] }] }));
      assert.deepEqual(warnings, [], folder);
    }
  });

  it('requires "/" for the root folder and rejects an empty string', () => {
    const problems = mistakesIn({ grants: [{ folder: '', to: 'everyone', rights: ['read'] }] });
    assert.equal(problems.length, 1);
    assert.match(problems.join(), /grants\[0\]\.folder\): must be the path of a folder, "\/" for the root, not ""/);
  });

  it('lists the valid rights when a right is unknown', () => {
    assert.match(mistakesInGrant({ rights: ['own'] }).join(), /must be one of "read", "write", "manage", not "own"/);
  });

  it('supports 2,000 users and grants, including errors in all of them', () => {
    const numbers = Array.from({ length: 2000 }, (_, index) => index);
    const hash = (index: number) => `sha256:${String(index).padStart(43, 'a')}`;
    const people = numbers.map((index) => [`p${index}`, { tokens: [{ name: 't', hash: hash(index) }] }]);
    const grants = numbers.map((index) => ({ folder: `/f/${index}`, to: { person: `p${index}` }, rights: ['read'] }));
    const { policy } = parseAccessFile(JSON.stringify({ people: Object.fromEntries(people), grants }));
    assert.ok(policy.allows({ name: 'p1999', groups: [] }, 'read', parseFile('f/1999/x')));
    assert.ok(!policy.allows({ name: 'p1999', groups: [] }, 'read', parseFile('f/199/x')));
    const wrong = mistakesIn({ people: {}, grants: grants.map((grant) => ({ ...grant, rights: ['own'] })) });
    assert.equal(wrong.length, 4000);
  });
});

describe('docs/reference/access.schema.json', () => {
  it('matches the schema that the parser enforces', async () => {
    const published: unknown = JSON.parse(
      await readFile(new URL('../../docs/reference/access.schema.json', import.meta.url), 'utf8'),
    );
    const shape: unknown = JSON.parse(JSON.stringify(ACCESS_FILE_SCHEMA));
    assert.deepEqual(published, shape, 'Regenerate it: node scripts/draw-access-schema.ts');
  });
});

it('rejects two grants for folders whose names the store may treat as equal', () => {
  const text = JSON.stringify({
    grants: ['Photos', 'photos'].map((folder) => ({ folder, to: 'everyone', rights: ['read'] })),
  });
  const names = foldingNames({ ignoresCase: true, ignoresForm: false });
  assert.equal(parseAccessFile(text).grants.length, 2);
  assert.throws(() => parseAccessFile(text, 'it', names), /has the same folder and subject as the grant of line 1/);
});
