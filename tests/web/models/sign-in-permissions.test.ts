import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import {
  createPermissions,
  type Permission,
  type RequiredPermission,
} from '../../../web/src/model/account/permissions.ts';

const ALL: readonly RequiredPermission[] = ['read', 'write', 'manage', 'change'];

interface SceneOptions {
  readonly isReadOnly?: boolean;
  readonly isControlled?: boolean;
  readonly isAnonymous?: boolean;
  /** The permissions by folder. */
  readonly known?: Readonly<Record<string, readonly Permission[]>>;
}

/** The permissions of a page, and the folder that it shows. */
function createScene({ isReadOnly = false, isControlled = true, isAnonymous = false, known = {} }: SceneOptions = {}) {
  const shown = signal('');
  const permissions = createPermissions({ isReadOnly, isControlled, isAnonymous: () => isAnonymous, shown });
  for (const [prefix, granted] of Object.entries(known)) permissions.update({ prefix, rights: [...granted] });
  const allowed = () => ALL.filter((required) => permissions.allows(required));
  const allowedIn = (folder: string) => ALL.filter((required) => permissions.allowsIn(folder, required));
  return { shown, permissions, allowed, allowedIn };
}

describe('The permissions in the shown folder', () => {
  it('are those of its listing', () => {
    const { shown, allowed } = createScene({
      isAnonymous: true,
      known: { '': [], 'inbox/': ['write'], 'handbook/': ['read'], 'team/': ['read', 'write'] },
    });
    assert.deepEqual(allowed(), []);
    for (const [folder, expected] of [
      ['inbox/', ['write', 'change']],
      ['handbook/', ['read']],
      ['team/', ['read', 'write', 'change']],
    ] as const) {
      shown.value = folder;
      assert.deepEqual(allowed(), expected, folder);
    }
  });

  it('are those of the previous folder while the listing loads', () => {
    const { shown, permissions, allowed } = createScene({ known: { '': ['read'] } });
    assert.deepEqual(allowed(), ['read', 'change']);
    shown.value = 'team/';
    assert.deepEqual(allowed(), ['read', 'change']);
    permissions.update({ prefix: 'team/', rights: ['read', 'write', 'manage'] });
    assert.deepEqual(allowed(), ALL);
  });

  it('change when the grants change', () => {
    const { permissions, allowed } = createScene({ isAnonymous: true, known: { '': ['read', 'write'] } });
    permissions.update({ prefix: '', rights: [] });
    assert.deepEqual(allowed(), []);
    permissions.update({ prefix: '' });
    assert.deepEqual(allowed(), []);
    permissions.update({ prefix: '', rights: ['read'] });
    assert.deepEqual(allowed(), ['read']);
  });

  it('are all without access control, and only read when the service is read-only', () => {
    assert.deepEqual(createScene({ isControlled: false }).allowed(), ALL);
    assert.deepEqual(createScene({ isControlled: false, isReadOnly: true }).allowed(), ['read']);
    const known = { '': ['read', 'write', 'manage'] } as const;
    assert.deepEqual(createScene({ isReadOnly: true, known }).allowed(), ['read']);
  });
});

describe('The permissions in another folder', () => {
  it('are inherited from the nearest listed ancestor if they include write; otherwise, all are assumed', () => {
    const { allowedIn } = createScene({
      isAnonymous: true,
      known: { '': ['read'], 'team/': ['read', 'write'], 'team/private/': ['read'] },
    });
    assert.deepEqual(allowedIn('team/'), ['read', 'write', 'change']);
    assert.deepEqual(allowedIn('team/a/b/'), ['read', 'write', 'change']);
    assert.deepEqual(allowedIn('team/private/'), ['read']);
    assert.deepEqual(allowedIn('team/private/a/'), ALL);
    assert.deepEqual(allowedIn('other/'), ALL);
    assert.deepEqual(allowedIn(''), ['read']);
  });
});

describe('The permission to see versions', () => {
  it('is that of users who can change files in the folder', () => {
    const known = { 'team/': ['read', 'write'], 'books/': ['read'], 'own/': ['manage'] } as const;
    const seen = (options: SceneOptions) => {
      const { permissions } = createScene({ known, ...options });
      return Object.keys(known).filter((folder) => permissions.seesVersionsIn(folder));
    };
    assert.deepEqual(seen({}), ['team/', 'own/']);
    assert.deepEqual(seen({ isReadOnly: true }), ['team/', 'own/']);
    assert.deepEqual(seen({ isAnonymous: true }), []);
    assert.deepEqual(seen({ isControlled: false }), ['team/', 'books/', 'own/']);
  });
});
