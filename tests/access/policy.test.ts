import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  createPolicy,
  type Grant,
  type Identity,
  PERMISSIONS,
  type Permission,
  type Subject,
  type UserEntry,
} from '../../src/access/policy.ts';
import { foldingNames } from '../../src/model/name-comparison.ts';
import { type FilePath, type FolderPath, parseFile, parseFolder, ROOT } from '../../src/model/path.ts';

const everyone: Subject = { kind: 'everyone' };
const signedIn: Subject = { kind: 'signed-in' };
const person = (name: string): Subject => ({ kind: 'person', name });
const group = (name: string): Subject => ({ kind: 'group', name });
const grant = (folder: string, to: Subject, ...rights: Permission[]): Grant => ({
  folder: parseFolder(folder),
  to,
  permissions: rights,
});

const ann: Identity = { name: 'ann', groups: [] };
const ANN: UserEntry = { name: 'ann', password: undefined, groups: ['family'], tokens: [] };

const pathOf = (text: string): FilePath | FolderPath =>
  text === '' || text.endsWith('/') ? parseFolder(text) : parseFile(text);

/** A rule: the paths that a user may read, and paths that the user may not read. */
interface Rule {
  readonly title: string;
  readonly grants: readonly Grant[];
  readonly identity?: Identity | undefined;
  readonly may?: readonly string[];
  readonly mayNot?: readonly string[];
}

const RULES: readonly Rule[] = [
  { title: 'without a grant, nothing is allowed', grants: [], identity: ann, mayNot: ['', 'a', 'a/'] },
  {
    title: 'a grant is for its folder and everything below it, and not for its siblings or ancestors',
    grants: [grant('a/b', person('ann'), 'read')],
    identity: ann,
    may: ['a/b/', 'a/b/c', 'a/b/c/', 'a/b/c/d'],
    mayNot: ['', 'a', 'a/', 'a/b', 'a/bc', 'a/bc/', 'a/bc/d', 'a/B/', 'b/', 'a/c', 'x/a/b/'],
  },
  {
    title: 'a grant of the root is for every path',
    grants: [grant('/', person('ann'), 'read')],
    identity: ann,
    may: ['', 'a', 'a/b/'],
  },
  {
    title: 'a right does not include another right',
    grants: [grant('/', person('ann'), 'write', 'manage')],
    identity: ann,
    mayNot: ['', 'a'],
  },
  {
    title: 'a grant to a user is not for other users, and not for a group of that name',
    grants: [grant('/', person('ann'), 'read'), grant('/', group('carl'), 'read')],
    identity: { name: 'carl', groups: ['ann'] },
    mayNot: ['', 'a'],
  },
  {
    title: 'a grant to a user is not for anonymous users',
    grants: [grant('/', person('ann'), 'read')],
    mayNot: [''],
  },
  {
    title: 'a grant to all signed-in users is not for anonymous users',
    grants: [grant('/', signedIn, 'read')],
    mayNot: ['', 'a'],
  },
  {
    title: 'a group in the file has its grants',
    grants: [grant('/', group('family'), 'read')],
    identity: ann,
    may: ['a'],
  },
  {
    title: 'a group from a provider has its grants, also for a user who is not in the file',
    grants: [grant('/', group('staff'), 'read')],
    identity: { name: 'carl', groups: ['staff'] },
    may: ['a'],
  },
  {
    title: 'a deeper folder overrules for the same subject',
    grants: [grant('/', person('ann'), 'read'), grant('a', person('ann')), grant('a/b', person('ann'), 'read')],
    identity: ann,
    may: ['', 'b/', 'ab/', 'a/b/', 'a/b/c'],
    mayNot: ['a/', 'a/c', 'a/bc'],
  },
  {
    title: 'a grant to a user overrules those to their groups in the same folder, but not in deeper folders',
    grants: [grant('a', group('family'), 'read'), grant('a', person('ann'))],
    identity: ann,
    mayNot: ['a/', 'a/b'],
  },
  {
    title: 'a grant to a group in a deeper folder adds to a grant to the user in an ancestor',
    grants: [grant('/', person('ann'), 'write'), grant('a', group('family'), 'read')],
    identity: ann,
    may: ['a/'],
    mayNot: [''],
  },
  {
    title: 'a denied group in a deeper folder revokes no grant to the user',
    grants: [grant('/', person('ann'), 'read'), grant('a', group('family'))],
    identity: ann,
    may: ['a/'],
  },
  {
    title: 'a grant to a group overrules one to all signed-in users',
    grants: [grant('a', signedIn, 'read'), grant('a', group('family'))],
    identity: ann,
    mayNot: ['a/'],
  },
  {
    title: 'the rights of several groups are combined',
    grants: [grant('a', group('family'), 'read'), grant('a/b', group('staff'))],
    identity: { name: 'ann', groups: ['staff'] },
    may: ['a/', 'a/b/'],
  },
  {
    title: 'signing in revokes no right of everyone',
    grants: [
      grant('a', everyone, 'read'),
      grant('a', person('ann')),
      grant('a', group('family')),
      grant('a', signedIn),
    ],
    identity: ann,
    may: ['a/', 'a/b'],
  },
  {
    title: 'a grant to everyone is overruled by one to everyone in a deeper folder',
    grants: [grant('/', everyone, 'read'), grant('a', everyone)],
    identity: ann,
    may: ['', 'b'],
    mayNot: ['a/', 'a/b'],
  },
];

describe('A policy', () => {
  for (const { title, grants, identity, may = [], mayNot = [] } of RULES) {
    it(title, () => {
      const policy = createPolicy([ANN], grants);
      for (const path of may) assert.ok(policy.allows(identity, 'read', pathOf(path)), `may read ${path}`);
      for (const path of mayNot) assert.ok(!policy.allows(identity, 'read', pathOf(path)), `may not read ${path}`);
    });
  }

  it('reports the effective grants, the overruled grants and the overruling grants', () => {
    const [all, closed, family] = [
      grant('/', person('ann'), 'read'),
      grant('a', person('ann')),
      grant('a', group('family')),
    ];
    const other = grant('b', person('ann'), 'read');
    const decision = createPolicy([ANN], [all, closed, family, other]).decide(ann, 'read', pathOf('a/x'));
    assert.deepEqual(decision, {
      allowed: false,
      effective: [closed],
      overridden: [
        { grant: all, by: closed },
        { grant: family, by: closed },
      ],
    });
  });

  it('finds users and tokens by name, including names of Object.prototype properties', () => {
    const strange = ['__proto__', 'constructor', 'toString', 'a:b'];
    const people = strange.map((name) => ({ ...ANN, name, tokens: [{ name: 't', hash: name, expires: undefined }] }));
    const policy = createPolicy(people, [grant('/', person('__proto__'), 'read')]);
    for (const name of strange) {
      assert.equal(policy.userEntry(name)?.name, name);
      assert.equal(policy.tokenOf(name)?.user.name, name);
      assert.equal(policy.allows({ name, groups: [] }, 'read', ROOT), name === '__proto__');
    }
    assert.equal(policy.userEntry('hasOwnProperty'), undefined);
    assert.equal(policy.tokenOf('hasOwnProperty'), undefined);
  });

  describe('for a whole folder', () => {
    const policy = createPolicy(
      [ANN],
      [
        grant('/', person('ann'), 'read', 'manage'),
        grant('a/closed', person('ann')),
        grant('b/narrow', person('ann'), 'read'),
        grant('ab/same', person('ann'), 'read', 'manage'),
      ],
    );
    for (const [folder, right, expected] of [
      ['', 'read', false],
      ['a/', 'read', false],
      ['a/closed/', 'read', false],
      ['a/open/', 'read', true],
      ['a/close/', 'manage', true],
      ['b/', 'read', true],
      ['b/', 'manage', false],
      ['b/narrow/x/', 'read', true],
      ['ab/', 'manage', true],
    ] as const) {
      it(`${expected ? 'allows' : 'does not allow'} to ${right} all of "${folder}"`, () => {
        assert.equal(policy.allowsThroughout(ann, right, parseFolder(folder)), expected);
      });
    }
  });

  it('shows only the ancestors of folders with permissions', () => {
    const policy = createPolicy(
      [ANN],
      [grant('a/b/c', person('ann'), 'write'), grant('x', person('ann')), grant('y', person('bob'), 'read')],
    );
    const visible = ['', 'a', 'a/b', 'a/b/c', 'a/b/c/d', 'a/bb', 'a/b/cc', 'ab', 'x', 'x/y', 'y'].filter((folder) =>
      policy.isVisible(ann, parseFolder(folder)),
    );
    assert.deepEqual(visible, ['', 'a', 'a/b', 'a/b/c', 'a/b/c/d']);
    assert.ok(!policy.isVisible(undefined, ROOT));
  });

  it('lists the folders below a folder that a grant gives to the user', () => {
    const folders = ['a', 'a/b', 'a/b/c', 'a/b\u{1f600}', 'ab', 'a/bb', 'a/b/\uffff', 'b'];
    const mine = folders.map((folder) => grant(folder, person('ann'), 'read'));
    const policy = createPolicy([ANN], [...mine, grant('a/b', group('family')), grant('a/b/x', person('bob'))]);
    const namedBelow = (folder: string) => policy.grantFoldersBelow(ann, parseFolder(folder)).toSorted();
    assert.deepEqual(namedBelow('a/b'), ['a/b/c/', 'a/b/\uffff/']);
    assert.deepEqual(namedBelow('a'), ['a/b/', 'a/b/c/', 'a/b/\uffff/', 'a/bb/', 'a/b\u{1f600}/']);
    assert.deepEqual(namedBelow(''), folders.map((folder) => `${folder}/`).toSorted());
    assert.deepEqual(policy.grantFoldersBelow(undefined, ROOT), []);
  });

  it('reports whether a user has a right in any folder', () => {
    const policy = createPolicy([ANN], [grant('a/b', person('ann'), 'write'), grant('x', person('ann'))]);
    assert.ok(policy.allowsSomewhere(ann, 'write'));
    assert.ok(!policy.allowsSomewhere(ann, 'read'));
    assert.ok(!policy.allowsSomewhere(undefined, 'write'));
  });
});

describe('Any policy', () => {
  const segment = fc.constantFrom('a', 'ab', 'b', 'a ', '\u{1f600}', '\uffff');
  const folder = fc.array(segment, { maxLength: 4 }).map((segments) => parseFolder(segments.join('/')));
  const path = fc.oneof(
    folder,
    fc.array(segment, { minLength: 1, maxLength: 5 }).map((segments) => parseFile(segments.join('/'))),
  );
  const name = fc.constantFrom('ann', 'bob');
  const subject = fc.oneof(name.map(person), name.map(group), fc.constant(signedIn), fc.constant(everyone));
  const grants = fc.uniqueArray(fc.record({ folder, to: subject, permissions: fc.subarray([...PERMISSIONS]) }), {
    maxLength: 12,
    selector: (each) => JSON.stringify([each.folder, each.to]),
  });
  const identity = fc.record({ name, groups: fc.subarray(['ann', 'bob']) });
  const people: readonly UserEntry[] = [{ ...ANN, groups: ['bob'] }];
  const right = fc.constantFrom(...PERMISSIONS);

  it('allows only the rights that a grant gives in an ancestor folder, by whole segments', () => {
    fc.assert(
      fc.property(grants, identity, right, path, (given, client, wanted, place) => {
        const segments = place.split('/').filter(Boolean);
        const isIn = (each: Grant) => {
          const above = each.folder.split('/').filter(Boolean);
          // A file has more segments than the folders that contain it.
          const isLongEnough = segments.length > above.length || (place === each.folder && isFolderPath(place));
          return isLongEnough && above.every((part, index) => part === segments[index]);
        };
        const allowed = createPolicy(people, given).allows(client, wanted, place);
        if (allowed) assert.ok(given.some((each) => each.permissions.includes(wanted) && isIn(each)));
      }),
    );
  });

  it('gives signed-in users every permission of anonymous clients', () => {
    fc.assert(
      fc.property(grants, identity, right, path, (given, client, wanted, place) => {
        const policy = createPolicy(people, given);
        if (policy.allows(undefined, wanted, place)) assert.ok(policy.allows(client, wanted, place));
      }),
    );
  });

  it('makes the same decision as the reference implementation', () => {
    fc.assert(
      fc.property(grants, identity, right, path, (given, client, wanted, place) => {
        const { effective, overridden, allowed } = createPolicy(people, given).decide(client, wanted, place);
        const expected = matchingGrants(given, client, client.name === 'ann' ? ['bob'] : [], place);
        assert.deepEqual(new Set(effective), new Set(expected));
        assert.equal(
          allowed,
          expected.some(({ permissions }) => permissions.includes(wanted)),
        );
        assert.ok(
          overridden.every((each) => !effective.includes(each.grant) && each.by.folder.startsWith(each.grant.folder)),
        );
      }),
    );
  });

  it('allows a right throughout a folder only if it allows the right for every path in it', () => {
    fc.assert(
      fc.property(grants, identity, right, folder, path, (given, client, wanted, top, below) => {
        const policy = createPolicy(people, given);
        const place = (top + below) as FilePath | FolderPath;
        if (policy.allowsThroughout(client, wanted, top)) assert.ok(policy.allows(client, wanted, place));
        if (policy.allows(client, wanted, place)) assert.ok(policy.isVisible(client, top));
      }),
    );
  });
});

function isFolderPath(path: string): boolean {
  return path === '' || path.endsWith('/');
}

/** The rule of `Policy.decide`, implemented independently by checking every grant. */
function matchingGrants(grants: readonly Grant[], identity: Identity, own: readonly string[], path: string): Grant[] {
  const closeness = ({ to }: Grant) => ['everyone', 'signed-in', 'group', 'person'].indexOf(to.kind);
  const applying = grants.filter(({ folder, to }) => {
    if (!path.startsWith(folder)) return false;
    if (to.kind === 'person') return to.name === identity.name;
    return to.kind !== 'group' || identity.groups.includes(to.name) || own.includes(to.name);
  });
  return applying.filter((one) => {
    const deeper = applying.filter((other) => other !== one && other.folder.startsWith(one.folder));
    return !deeper.some(
      (other) =>
        JSON.stringify(other.to) === JSON.stringify(one.to) ||
        (one.to.kind !== 'everyone' && closeness(other) > closeness(one)),
    );
  });
}

describe('A policy for a store with case-insensitive or normalized names', () => {
  const folded = foldingNames({ ignoresCase: true, ignoresForm: true });
  const policyOf = (...grants: Grant[]) => createPolicy([ANN], grants, folded);
  const mayRead = (policy: ReturnType<typeof policyOf>, path: string) => policy.allows(ann, 'read', pathOf(path));

  it('denies access to a closed folder in every spelling', () => {
    const policy = policyOf(grant('', person('ann'), 'read'), grant('a/stra\u00dfe', person('ann')));
    for (const path of ['a/stra\u00dfe/x', 'A/STRA\u00dfE/x', 'a/strasse/x', 'a/STRA\u1e9eE/', 'a/\u017ftrasse/x']) {
      assert.equal(mayRead(policy, path), false, path);
    }
    assert.equal(mayRead(policy, 'a/stra/x'), true);
    const dotted = policyOf(grant('', person('ann'), 'read'), grant('private', person('ann')));
    for (const path of ['pr\u0130vate/x', 'PRI\u0307VATE/x', 'pr\u0131vate/x']) {
      assert.equal(mayRead(dotted, path), false, path);
    }
    assert.equal(policy.allowsThroughout(ann, 'read', parseFolder('A/')), false);
    assert.equal(policy.allowsThroughout(ann, 'read', parseFolder('b/')), true);
  });

  it('gives rights only in spellings that certainly name the folder', () => {
    const policy = policyOf(grant('Photos/Caf\u00e9', person('ann'), 'read'));
    for (const path of ['Photos/Caf\u00e9/x', 'photos/caf\u00e9/x', 'PHOTOS/cafe\u0301/']) {
      assert.equal(mayRead(policy, path), true, path);
    }
    for (const path of ['photos/caf\u00c9/x', 'photos/cafe/x', 'ph\u200dotos/caf\u00e9/x']) {
      assert.equal(mayRead(policy, path), false, path);
    }
  });

  it('never gives access through a grant below a spelling that is only possibly equal', () => {
    const policy = policyOf(
      grant('', person('ann'), 'read'),
      grant('ss', person('ann')),
      grant('\u00df/open', person('ann'), 'read'),
    );
    for (const path of ['ss/open/x', '\u00df/x', '\u1e9e/open/x']) assert.equal(mayRead(policy, path), false, path);
    assert.equal(policy.allowsThroughout(ann, 'read', parseFolder('ss/open/')), false);
  });

  it('lists subfolders in the spelling of the requested folder', () => {
    const policy = policyOf(grant('Photos/a', person('ann'), 'read'), grant('photos/B', person('ann'), 'read'));
    assert.deepEqual(policy.grantFoldersBelow(ann, parseFolder('PHOTOS/')).toSorted(), ['PHOTOS/B/', 'PHOTOS/a/']);
    assert.equal(policy.isVisible(ann, parseFolder('PHOTOS/')), true);
    assert.equal(policy.allowsSomewhere(ann, 'read'), true);
  });

  it('treats normalization forms as different when the store ignores only case', () => {
    const policy = createPolicy(
      [ANN],
      [grant('caf\u00e9', person('ann'), 'read')],
      foldingNames({ ignoresCase: true, ignoresForm: false }),
    );
    assert.equal(policy.allows(ann, 'read', pathOf('CAF\u00e9/x')), true);
    assert.equal(policy.allows(ann, 'read', pathOf('cafe\u0301/x')), false);
  });
});
