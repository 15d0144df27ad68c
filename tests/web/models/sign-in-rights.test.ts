import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import {
  createPermissions,
  type Permission,
  type RequiredPermission,
} from '../../../web/src/model/account/permissions.ts';

const NEEDS: readonly RequiredPermission[] = ['read', 'write', 'manage', 'change'];

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
  const allowed = () => NEEDS.filter((need) => permissions.allows(need));
  const allowedIn = (folder: string) => NEEDS.filter((need) => permissions.allowsIn(folder, need));
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

  it('are those of the folder before while the listing loads', () => {
    const { shown, permissions, allowed } = createScene({ known: { '': ['read'] } });
    assert.deepEqual(allowed(), ['read', 'change']);
    shown.value = 'team/';
    assert.deepEqual(allowed(), ['read', 'change']);
    permissions.update({ prefix: 'team/', rights: ['read', 'write', 'manage'] });
    assert.deepEqual(allowed(), NEEDS);
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
    assert.deepEqual(createScene({ isControlled: false }).allowed(), NEEDS);
    assert.deepEqual(createScene({ isControlled: false, isReadOnly: true }).allowed(), ['read']);
    const known = { '': ['read', 'write', 'manage'] } as const;
    assert.deepEqual(createScene({ isReadOnly: true, known }).allowed(), ['read']);
  });
});

describe('The permissions in another folder', () => {
  it('are inherited from the nearest known folder above it if the user may write there, otherwise all', () => {
    const { allowedIn } = createScene({
      isAnonymous: true,
      known: { '': ['read'], 'team/': ['read', 'write'], 'team/private/': ['read'] },
    });
    assert.deepEqual(allowedIn('team/'), ['read', 'write', 'change']);
    assert.deepEqual(allowedIn('team/a/b/'), ['read', 'write', 'change']);
    assert.deepEqual(allowedIn('team/private/'), ['read']);
    assert.deepEqual(allowedIn('team/private/a/'), NEEDS);
    assert.deepEqual(allowedIn('other/'), NEEDS);
    assert.deepEqual(allowedIn(''), ['read']);
  });
});
