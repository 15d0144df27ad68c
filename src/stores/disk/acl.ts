/*
 * POSIX ACLs as Linux stores them in extended attributes (linux/posix_acl_xattr.h): a version of four bytes, and entries of a
 * tag (two bytes), permissions (two bytes) and an ID (four bytes), in little endian.
 */

const VERSION = 2;
const HEADER_BYTES = 4;
const ENTRY_BYTES = 8;

/** The tags of entries. */
const USER_OBJ = 0x01;
const USER = 0x02;
const GROUP_OBJ = 0x04;
const MASK = 0x10;
const OTHER = 0x20;

/** Permissions to read and write: a program creates a file without the one to execute it. */
const READ_WRITE = 6;

/** Returns the ACL of a new file in a folder with a default ACL, as Linux computes it. The umask does not apply. */
export function aclOfNewFile(defaultAcl: Buffer): Buffer {
  const limited = new Set([USER_OBJ, OTHER, permissionsOf(defaultAcl, MASK) === undefined ? GROUP_OBJ : MASK]);
  return mapEntries(defaultAcl, (tag, permissions) => (limited.has(tag) ? permissions & READ_WRITE : permissions));
}

/** Returns an ACL for an item with another group, which gets no more permissions than everyone. */
export function aclOfOtherGroup(acl: Buffer): Buffer {
  const others = permissionsOf(acl, OTHER) ?? 0;
  return mapEntries(acl, (tag, permissions) => (tag === GROUP_OBJ ? permissions & others : permissions));
}

/** Returns the permissions of the group itself. The mode of an item with an ACL has the mask in their place. */
export function groupPermissions(acl: Buffer): number {
  return (permissionsOf(acl, GROUP_OBJ) ?? 0) & (permissionsOf(acl, MASK) ?? 7);
}

/** Returns the ACL of a file that its owner can write and read, and `user` can read. */
export function aclWithUser(user: number): Buffer {
  const [none, read] = [0xffffffff, 4];
  const entries = [
    [USER_OBJ, READ_WRITE, none],
    [USER, read, user],
    [GROUP_OBJ, 0, none],
    [MASK, read, none],
    [OTHER, 0, none],
  ] as const;
  const acl = Buffer.alloc(HEADER_BYTES + entries.length * ENTRY_BYTES);
  acl.writeUInt32LE(VERSION, 0);
  for (const [index, [tag, permissions, id]] of entries.entries()) {
    const at = HEADER_BYTES + index * ENTRY_BYTES;
    acl.writeUInt16LE(tag, at);
    acl.writeUInt16LE(permissions, at + 2);
    acl.writeUInt32LE(id, at + 4);
  }
  return acl;
}

function permissionsOf(acl: Buffer, wanted: number): number | undefined {
  let found: number | undefined;
  mapEntries(acl, (tag, permissions) => {
    if (tag === wanted) found = permissions;
    return permissions;
  });
  return found;
}

function mapEntries(acl: Buffer, change: (tag: number, permissions: number) => number): Buffer {
  const changed = Buffer.from(acl);
  for (let at = HEADER_BYTES; at + ENTRY_BYTES <= acl.length; at += ENTRY_BYTES) {
    changed.writeUInt16LE(change(acl.readUInt16LE(at), acl.readUInt16LE(at + 2)), at + 2);
  }
  return changed;
}
