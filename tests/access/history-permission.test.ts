import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PermissionChecks } from '../../src/access/permission-checks.ts';
import { createPolicy, PERMISSIONS, type Permission } from '../../src/access/policy.ts';
import { createFiles } from '../../src/files/files.ts';
import { parseFile, ROOT } from '../../src/model/path.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';

const FILE = parseFile('a');
const files = createFiles(createMemoryStore(), { presignExpires: 60 });

/** Returns whether a user with these permissions sees the trash and versions. */
function seesHistory(
  permissions: readonly Permission[],
  options: { readonly historyPermission?: Permission; readonly isAnonymous?: boolean } = {},
): boolean {
  const policy = createPolicy([], [{ folder: ROOT, to: { kind: 'everyone' }, permissions }]);
  const checks = new PermissionChecks(files, {
    policy: () => policy,
    user: undefined,
    confirm: async () => {},
    record: () => {},
    ...options,
  });
  return checks.canSeeHistory(FILE);
}

describe('The trash and versions', () => {
  it('need read, and write or manage by default', () => {
    for (const [permissions, expected] of [
      [['read'], false],
      [['write', 'manage'], false],
      [['read', 'write'], true],
      [['read', 'manage'], true],
    ] as const) {
      assert.equal(seesHistory(permissions), expected, permissions.join());
    }
  });

  it('need the permission of the setting', () => {
    assert.equal(seesHistory(['read', 'write'], { historyPermission: 'manage' }), false);
    assert.equal(seesHistory(['read', 'manage'], { historyPermission: 'manage' }), true);
    assert.equal(seesHistory(['read'], { historyPermission: 'read' }), true);
  });

  it('are closed to anonymous users with all permissions', () => {
    assert.equal(seesHistory(PERMISSIONS, { historyPermission: 'read', isAnonymous: true }), false);
  });
});
