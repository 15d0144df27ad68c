import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { GuardedFiles } from '../../src/access/guard.ts';
import { type AccessLimit, limitPolicy } from '../../src/access/limited-policy.ts';
import { AccessDenied } from '../../src/access/permission-checks.ts';
import { createPolicy, OPEN_POLICY, PERMISSIONS, type Permission, type Policy } from '../../src/access/policy.ts';
import { createFiles } from '../../src/files/files.ts';
import type { LoggedChange } from '../../src/model/change.ts';
import { EXACT_NAMES, foldingNames } from '../../src/model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { memory } from '../contract/backend.ts';
import { file, folder, plant, upload } from '../contract/bytes.ts';

const ann = { name: 'ann', groups: [] };
const grant = (path: string, ...permissions: Permission[]) => ({
  folder: path === '' ? ROOT : folder(path),
  to: { kind: 'person', name: 'ann' } as const,
  permissions,
});
const limit = (path: string, ...permissions: Permission[]): AccessLimit => ({
  folder: path === '' ? ROOT : folder(path),
  permissions,
});

const PATHS = ['', 'p/', 'p/q/', 'p/q/r/', 'p/x/', 'pq/', 'P/', 'p', 'p/a', 'p/q/a', 'pq/a', 'P/a', 'a'] as const;
const LISTS: readonly (readonly Permission[])[] = [['read'], ['write', 'manage'], PERMISSIONS];
const parsed = (path: string): FilePath | FolderPath => {
  if (path === '') return ROOT;
  return path.endsWith('/') ? folder(path) : file(path);
};

const POLICIES: Readonly<Record<string, Policy>> = {
  open: OPEN_POLICY,
  all: createPolicy([], [grant('', ...PERMISSIONS)]),
  closed: createPolicy([], [grant('', ...PERMISSIONS), grant('p/q')]),
  'some folders': createPolicy([], [grant('p', 'read'), grant('p/q', 'write'), grant('p/q/r', 'manage')]),
  'a deep folder': createPolicy([], [grant('p/q/r', ...PERMISSIONS)]),
  nothing: createPolicy([], []),
};

describe('A limited policy', () => {
  it('allows what the policy allows in the folder, of the permissions, and nothing else', () => {
    for (const [name, policy] of Object.entries(POLICIES)) {
      for (const root of ['', 'p', 'p/q', 'pq', 'absent']) {
        for (const permissions of LISTS) {
          const limited = limitPolicy(policy, limit(root, ...permissions));
          for (const text of PATHS) {
            const path = parsed(text);
            const what = `${name}, limit to ${root}: ${path}`;
            const isWithin = root === '' || path.startsWith(`${root}/`);
            for (const permission of PERMISSIONS) {
              const isAllowed = isWithin && permissions.includes(permission);
              const expected = isAllowed && policy.allows(ann, permission, path);
              assert.equal(limited.allows(ann, permission, path), expected, what);
              assert.equal(limited.decide(ann, permission, path).allowed, expected, what);
              if (!isFolder(path)) continue;
              const throughout = isAllowed && policy.allowsThroughout(ann, permission, path);
              assert.equal(limited.allowsThroughout(ann, permission, path), throughout, what);
            }
            if (isFolder(path)) assert.ok(!limited.isVisible(ann, path) || policy.isVisible(ann, path), what);
          }
        }
      }
    }
  });

  it('finds folders below with the spelling of the argument', () => {
    const policy = createPolicy([], [grant('', ...PERMISSIONS), grant('p/q/closed')], foldingNames(CASE));
    const limited = limitPolicy(policy, limit('p/q', 'read'));
    assert.deepEqual(limited.grantFoldersBelow(ann, ROOT), ['p/q/', 'p/q/closed/']);
    assert.deepEqual(limited.grantFoldersBelow(ann, folder('P')), ['P/q/', 'P/q/closed/']);
    assert.deepEqual(limited.grantFoldersBelow(ann, folder('p/Q')), ['p/Q/closed/']);
    assert.deepEqual(limited.grantFoldersBelow(ann, folder('pq')), []);
  });

  it('allows something somewhere only in its folder', () => {
    const policy = createPolicy([], [grant('p/q', 'write'), grant('a', 'read')]);
    assert.equal(limitPolicy(policy, limit('p', 'write', 'read')).allowsSomewhere(ann, 'write'), true);
    assert.equal(limitPolicy(policy, limit('p', 'write', 'read')).allowsSomewhere(ann, 'read'), false);
    assert.equal(limitPolicy(policy, limit('p', 'read')).allowsSomewhere(ann, 'write'), false);
    assert.equal(limitPolicy(policy, limit('b', 'write')).allowsSomewhere(ann, 'write'), false);
  });

  it('is closed for spellings that only might name its folder', () => {
    const policy = createPolicy([], [grant('', ...PERMISSIONS)], foldingNames(CASE));
    const limited = limitPolicy(policy, limit('Straße', ...PERMISSIONS));
    assert.equal(limited.allows(ann, 'read', file('sTRAße/a')), true);
    for (const name of ['STRASSE', 'strasse', 'ſtraße', 'straße\u200d', 'Stra\u1E9Ee']) {
      assert.equal(limited.allows(ann, 'read', file(`${name}/a`)), false, name);
      assert.equal(limited.isVisible(ann, folder(name)), false, name);
      assert.deepEqual(limited.grantFoldersBelow(ann, folder(name)), [], name);
    }
    const exact = limitPolicy(OPEN_POLICY, limit('Straße', ...PERMISSIONS));
    assert.equal(OPEN_POLICY.names, EXACT_NAMES);
    assert.equal(exact.allows(ann, 'read', file('straße/a')), false);
  });
});

const CASE = { ignoresCase: true, ignoresForm: true };

describe('Files with a limited policy', () => {
  let store: Store;
  let close: () => Promise<void>;
  beforeEach(async () => {
    ({ store, close } = await memory.open());
    await plant(store, { 'p/a': 'a', 'p/q/b': 'b', 'p/q/r/c': 'c', 'pq/d': 'd', e: 'e' });
  });
  afterEach(() => close());

  const open = (policy: Policy, to: AccessLimit) =>
    new GuardedFiles(createFiles(store, { presignExpires: 60 }), {
      policy: () => limitPolicy(policy, to),
      user: ann,
      confirm: async () => {},
      record: () => {},
    });
  const put = (files: GuardedFiles, path: string) =>
    files.upload({ target: { path: file(path) }, body: upload('new').body });
  const names = async (files: GuardedFiles, path: string) =>
    (await files.list(path === '' ? ROOT : folder(path))).entries.map((entry) => entry.path);
  const refused = (error: unknown) => error instanceof AccessDenied && !error.isAnonymous;

  it('list the folders that lead to the folder of the limit, without their other entries', async () => {
    const files = open(OPEN_POLICY, limit('p/q', 'read'));
    assert.deepEqual(await names(files, ''), ['p/']);
    assert.deepEqual(await names(files, 'p'), ['p/q/']);
    assert.deepEqual(await names(files, 'p/q'), ['p/q/b', 'p/q/r/']);
    await assert.rejects(files.list(folder('pq')), refused);
    await assert.rejects(files.list(folder('p/x')), refused);
  });

  it('read and change nothing outside', async () => {
    const files = open(OPEN_POLICY, limit('p/q', ...PERMISSIONS));
    await put(files, 'p/q/new');
    for (const path of ['e', 'p/a', 'pq/d', 'p/qx']) {
      await assert.rejects(files.stat(file(path)), refused, path);
      await assert.rejects(put(files, path), refused, path);
      await assert.rejects(files.deleteFile(file(path)), refused, path);
      const replace = { replace: true };
      await assert.rejects(files.copyFile(file(path), file('p/q/copy'), replace), refused, path);
      await assert.rejects(files.copyFile(file('p/q/b'), file(path), replace), refused, path);
      await assert.rejects(files.moveFile(file('p/q/b'), file(path), replace), refused, path);
    }
    await assert.rejects(files.renameFolder(folder('p/q'), 'qq', { replace: false }), refused);
    await assert.rejects(files.deleteFolder(folder('p')), refused);
    await assert.rejects(files.copyFolder(folder('p'), folder('p/q/copy'), { replace: false }), refused);
    assert.equal(files.canSeeChanges(folder('pq')), false);
  });

  it('show no changes outside, and a move from outside as a creation', () => {
    const files = open(OPEN_POLICY, limit('p/q', 'read'));
    const visible = (change: Pick<LoggedChange, 'type' | 'path' | 'from'>) =>
      files.visibleChanges({ id: '1', time: new Date(), ...change }, ROOT).map(({ type, path }) => [type, path]);
    assert.deepEqual(visible({ type: 'file.created', path: file('p/a') }), []);
    assert.deepEqual(visible({ type: 'file.created', path: file('pq/d') }), []);
    assert.deepEqual(visible({ type: 'file.created', path: file('p/q/b') }), [['file.created', 'p/q/b']]);
    assert.deepEqual(visible({ type: 'file.moved', from: file('p/a'), path: file('p/q/b') }), [
      ['file.created', 'p/q/b'],
    ]);
    assert.deepEqual(visible({ type: 'file.moved', from: file('p/q/b'), path: file('p/a') }), [
      ['file.deleted', 'p/q/b'],
    ]);
  });
});
