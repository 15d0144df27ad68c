import type { FilePath, FolderPath } from '../model/path.ts';
import { ROOT } from '../model/path.ts';
import type { Identity, Permission, Policy } from './policy.ts';

/** What a link shares, and on whose behalf. */
export interface LinkGrant {
  /** The folder whose content is the root of the link. */
  readonly folder: FolderPath;
  /** The name of the shared file in `folder`; undefined if the folder is shared. */
  readonly file: string | undefined;
  readonly permissions: readonly Permission[];
  /** The user who created the link; undefined for an anonymous user. */
  readonly creator: Identity | undefined;
}

/**
 * Returns the policy of a link: the permissions of the link, as far as its creator has them in `policy`. Its paths are
 * relative to the shared folder, and it is the same for every user. Without the read permission, it names no folders, so
 * that listings are empty.
 */
export function createLinkPolicy(policy: Policy, { folder: root, file, permissions, creator }: LinkGrant): Policy {
  const absolute = <Path extends FilePath | FolderPath>(path: Path) => (root + path) as Path;
  const grantFoldersBelow = (folder: FolderPath): FolderPath[] => {
    if (file !== undefined || !permissions.includes('read')) return [];
    const below = policy.grantFoldersBelow(creator, absolute(folder));
    return below.map((each) => each.slice(root.length) as FolderPath);
  };
  const allows = (permission: Permission, path: FilePath | FolderPath): boolean => {
    if (!permissions.includes(permission)) return false;
    if (file === undefined) return policy.allows(creator, permission, absolute(path));
    // The root of a link to a file lists only that file.
    return (path === file || path === ROOT) && policy.allows(creator, permission, absolute(file as FilePath));
  };
  const isAccessible = (folder: FolderPath) => permissions.some((permission) => allows(permission, folder));

  return {
    names: policy.names,
    hasPasswords: false,
    userEntry: () => undefined,
    tokenOf: () => undefined,
    decide: (_user, permission, path) => ({ allowed: allows(permission, path), effective: [], overridden: [] }),
    allows: (_user, permission, path) => allows(permission, path),
    allowsThroughout: (_user, permission, folder) =>
      file === undefined &&
      permissions.includes(permission) &&
      policy.allowsThroughout(creator, permission, absolute(folder)),
    allowsSomewhere: (_user, permission) => [ROOT, ...grantFoldersBelow(ROOT)].some((each) => allows(permission, each)),
    isVisible: (_user, folder) => [folder, ...grantFoldersBelow(folder)].some(isAccessible),
    grantFoldersBelow: (_user, folder) => grantFoldersBelow(folder),
  };
}
