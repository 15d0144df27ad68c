import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { GuardedFiles } from '../../src/access/guard.ts';
import { createLinkPolicy, type LinkGrant } from '../../src/access/link-policy.ts';
import { AccessDenied } from '../../src/access/permission-checks.ts';
import { createPolicy, OPEN_POLICY, PERMISSIONS, type Permission, type Policy } from '../../src/access/policy.ts';
import { createFiles } from '../../src/files/files.ts';
import { SharedFiles } from '../../src/files/shared-files.ts';
import type { Store } from '../../src/model/store.ts';
import { memory } from '../contract/backend.ts';
import { file, folder, plant, treeOf, upload } from '../contract/bytes.ts';

const ann = { name: 'ann', groups: [] };
const grant = (path: string, ...permissions: Permission[]) => ({
  folder: folder(path),
  to: { kind: 'person', name: 'ann' } as const,
  permissions,
});

describe('The policy of a link', () => {
  let store: Store;
  let close: () => Promise<void>;

  beforeEach(async () => {
    ({ store, close } = await memory.open());
    await plant(store, { 'p/a': 'a', 'p/closed/b': 'b', 'p/open/c': 'c', 'px/d': 'd', e: 'e' });
  });
  afterEach(() => close());

  const visit = (policy: Policy, link: Partial<Omit<LinkGrant, 'folder'>> & { folder?: string }) => {
    const shared = { file: undefined, permissions: ['read'] as Permission[], creator: ann, ...link };
    const linkGrant = { ...shared, folder: folder(link.folder ?? 'p/') };
    const files = new SharedFiles(createFiles(store, { presignExpires: 60 }), {
      ...linkGrant,
      cursors: { seal: (cursor) => cursor, open: (cursor) => cursor },
      sign: () => '',
    });
    return new GuardedFiles(files, {
      policy: () => createLinkPolicy(policy, linkGrant),
      user: undefined,
      isLink: true,
      confirm: async () => {},
      record: () => {},
    });
  };
  const put = (files: GuardedFiles, path: string) =>
    files.upload({ target: { path: file(path) }, body: upload('new').body });
  const refused = (error: unknown) => error instanceof AccessDenied && !error.isAnonymous;

  it('gives only the permissions of its creator', async () => {
    const policy = createPolicy([], [grant('p', 'read'), grant('p/closed')]);
    const files = visit(policy, {});
    assert.deepEqual(await treeOf(files), { a: 'a', 'open/': null, 'open/c': 'c' });
    await assert.rejects(files.stat(file('closed/b')), refused);
    await assert.rejects(put(files, 'new'), refused);
    await assert.rejects(files.deleteFile(file('a')), refused);
  });

  it('ends with the permissions of its creator', async () => {
    const files = visit(createPolicy([], [grant('px', 'read')]), {});
    await assert.rejects(files.list(folder('')), refused);
    await assert.rejects(files.stat(file('a')), refused);
  });

  it('gives no permission that only its creator has', async () => {
    const files = visit(OPEN_POLICY, { permissions: ['read'] });
    const options = { replace: true };
    await assert.rejects(put(files, 'a'), refused);
    await assert.rejects(files.createFolder(folder('x/')), refused);
    await assert.rejects(files.renameFile(file('a'), 'b', options), refused);
    await assert.rejects(files.copyFile(file('a'), file('b'), options), refused);
    await assert.rejects(files.deleteFolder(folder('open/')), refused);
    await assert.rejects(
      files.listTrash().then(() => files.emptyTrash()),
      /trash/,
    );
  });

  it('shows nothing of a folder to which visitors can only add', async () => {
    const policy = createPolicy([], [grant('p', ...PERMISSIONS), grant('p/open', ...PERMISSIONS)]);
    const files = visit(policy, { permissions: ['write'] });
    for (const path of ['', 'open/', 'missing/']) {
      assert.deepEqual((await files.list(folder(path))).entries, [], path);
    }
    await assert.rejects(files.stat(file('a')), refused);
    await assert.rejects(files.download(file('missing'), { asAttachment: false }), refused);
    await put(files, 'new');
    await put(files, 'open/new');
    // A taken name is refused in the same way for a file and for a folder.
    for (const path of ['a', 'open']) await assert.rejects(put(files, path));
    assert.equal((await treeOf(store))['p/new'], 'new');
  });

  it('shows a shared file only', async () => {
    const files = visit(OPEN_POLICY, { file: 'a' });
    assert.deepEqual(await treeOf(files), { a: 'a' });
    await assert.rejects(files.stat(file('open/c')), refused);
    await assert.rejects(files.list(folder('open/')), refused);
    const withoutGrant = visit(createPolicy([], [grant('px', 'read')]), { file: 'a' });
    await assert.rejects(withoutGrant.list(folder('')), refused);
  });

  it('can share the root', async () => {
    const policy = createPolicy([], [grant('px', 'read')]);
    assert.deepEqual(await treeOf(visit(policy, { folder: '' })), { 'px/': null, 'px/d': 'd' });
  });
});
