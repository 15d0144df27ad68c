import type { BigIntStats } from 'node:fs';
import { chmod, chown, lstat } from 'node:fs/promises';
import { systemErrorCode } from '../../model/error.ts';
import { aclOfNewFile, aclOfOtherGroup, groupPermissions } from './acl.ts';
import {
  ACCESS_ACL,
  DEFAULT_ACL,
  readAttribute,
  readAttributes,
  removeAttribute,
  writeAttribute,
} from './extended-attributes.ts';
import type { Folder } from './folder.ts';

/** A durable temporary file with its stats. */
export interface StagedFile {
  readonly path: string;
  readonly stats: BigIntStats;
  /** Whether it is a copy, which has the mode, group, ACL and extended attributes of its source. */
  readonly isCopy?: boolean;
  /** Whether it is on another file system than Holdall's own folder. */
  readonly isElsewhere?: boolean;
}

/** The bit of a mode that gives new items in a folder its group. */
const SETGID = 0o2000n;

/**
 * Gives a staged file the mode, owner, group, ACL and extended attributes of `replaced`, the file that it is going to
 * replace. Does what the process is permitted to do.
 */
export async function adoptPermissions(
  { path, stats, isCopy = false }: StagedFile,
  replaced: { readonly path: string; readonly stats: BigIntStats },
): Promise<void> {
  const attributes = await readAttributes(replaced.path);
  for (const name of isCopy ? (await readAttributes(path)).keys() : []) {
    if (!attributes.has(name) && !isSecurityLabel(name)) await removeAttribute(path, name);
  }
  const [uid, gid] = [Number(replaced.stats.uid), Number(replaced.stats.gid)];
  let hasGroup = stats.gid === replaced.stats.gid;
  if (stats.uid !== replaced.stats.uid) hasGroup = (await isPermitted(chown(path, uid, gid))) || hasGroup;
  if (!hasGroup) hasGroup = await isPermitted(chown(path, Number(stats.uid), gid));
  // Without setuid and setgid, as after any write by a process that is not root.
  const mode = Number(replaced.stats.mode) & 0o777;
  await applyPermissions(path, { current: Number(stats.mode), mode, attributes, hasGroup });
}

/** Gives a staged file what its folder prescribes for new files: the group (setgid), and the default ACL unless it is a copy. */
export async function inheritPermissions({ path, stats, isCopy = false }: StagedFile, folder: Folder): Promise<void> {
  const gid = await groupOfNewItems(folder);
  if (gid !== undefined) await isPermitted(chown(path, Number(stats.uid), Number(gid)));
  const acl = isCopy ? undefined : await readAttribute(folder.at('.'), DEFAULT_ACL);
  if (acl) await writeAttribute(path, ACCESS_ACL, aclOfNewFile(acl));
}

/** The metadata of a file or folder that a copy gets. */
export interface Permissions {
  readonly stats: BigIntStats;
  readonly attributes: ReadonlyMap<string, Buffer>;
}

/**
 * Gives a copy the mode, group, ACL and extended attributes of its source, and the user of the process as its owner. `group`
 * is that of a folder with the setgid bit in which the copy will be: it replaces the group, and folders get the bit. Does
 * what the process is permitted to do.
 */
export async function copyPermissions(path: string, { stats, attributes }: Permissions, group?: bigint): Promise<void> {
  const { uid, gid, mode: current } = await lstat(path, { bigint: true });
  const wanted = group ?? stats.gid;
  // Node.js gives copied files the owner of their source if the process is root.
  const owner = process.geteuid?.() ?? Number(uid);
  const isOwned = Number(uid) === owner && gid === wanted;
  const hasGroup = isOwned || (await isPermitted(chown(path, owner, Number(wanted))));
  const kept = stats.isDirectory() ? stats.mode & 0o3777n : stats.mode & 0o777n;
  const mode = group !== undefined && stats.isDirectory() ? kept | SETGID : kept;
  await applyPermissions(path, { current: Number(current), mode: Number(mode), attributes, hasGroup });
}

/** Returns the group that a folder gives to all new items (setgid); undefined if it gives none. */
export async function groupOfNewItems(folder: Folder): Promise<bigint | undefined> {
  const { mode, gid } = await folder.stats();
  return mode & SETGID ? gid : undefined;
}

/**
 * Sets a mode instead of the `current` one, and ACLs and extended attributes. Without the group for which they were made, other members of the new group
 * get no more than everyone.
 */
async function applyPermissions(
  path: string,
  {
    current,
    mode,
    attributes,
    hasGroup,
  }: {
    readonly current: number;
    readonly mode: number;
    readonly attributes: ReadonlyMap<string, Buffer>;
    readonly hasGroup: boolean;
  },
): Promise<void> {
  // Before the mode: it can forbid to set the attributes of users.
  for (const [name, value] of attributes) {
    if (isAcl(name)) continue;
    // Setting an equal label needs a permission, too.
    if (isSecurityLabel(name) && (await readAttribute(path, name))?.equals(value)) continue;
    await writeAttribute(path, name, value);
  }
  const acl = attributes.get(ACCESS_ACL);
  // If the ACL can't be set, the group must not get the permissions of its mask, which the mode contains.
  const own = acl ? (mode & ~0o070) | (groupPermissions(acl) << 3) : mode;
  const wanted = hasGroup ? own : (own & ~0o2070) | (own & ((own & 0o007) << 3));
  if ((current & 0o7777) !== wanted) await isPermitted(chmod(path, wanted));
  for (const [name, value] of attributes) {
    if (isAcl(name)) await writeAttribute(path, name, hasGroup ? value : aclOfOtherGroup(value));
  }
}

const isAcl = (name: string) => name === ACCESS_ACL || name === DEFAULT_ACL;

const isSecurityLabel = (name: string) => name.startsWith('security.');

/** Returns whether the system permits a change of metadata and the file system supports it. */
async function isPermitted(change: Promise<void>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (!REFUSED.has(systemErrorCode(error) ?? '')) throw error;
    return false;
  }
}

const REFUSED = new Set(['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL']);
