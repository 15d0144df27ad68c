import { type FilePath, type FolderPath, ROOT } from '../model/path.ts';
import type { Permission, Policy } from './policy.ts';

/** What a credential gives at most, whatever permissions its user has. */
export interface AccessLimit {
  /** The folder outside of which it gives no permission. */
  readonly folder: FolderPath;
  readonly permissions: readonly Permission[];
}

/**
 * Returns a policy that gives each user the permissions that they have in `policy`, as far as the limit allows. Like the
 * folder of a grant, the folder of the limit is visible from above: the folders that lead to it are listed, without their
 * other entries.
 *
 * If the store folds names, only spellings that certainly name the folder are in it. Every other one is closed.
 */
export function limitPolicy(policy: Policy, { folder: root, permissions }: AccessLimit): Policy {
  const { certain, possible } = policy.names;
  const [certainRoot, possibleRoot] = [certain(root), possible(root)];
  const isWithin = (path: FilePath | FolderPath) => certain(path).startsWith(certainRoot);
  const isAbove = (folder: FolderPath) => {
    const key = possible(folder);
    return key !== possibleRoot && possibleRoot.startsWith(key);
  };

  const limited: Policy = {
    ...policy,
    decide(user, permission, path) {
      const decision = policy.decide(user, permission, path);
      return { ...decision, allowed: decision.allowed && permissions.includes(permission) && isWithin(path) };
    },
    allows: (user, permission, path) =>
      permissions.includes(permission) && isWithin(path) && policy.allows(user, permission, path),
    allowsThroughout: (user, permission, folder) =>
      permissions.includes(permission) && isWithin(folder) && policy.allowsThroughout(user, permission, folder),
    allowsSomewhere: (user, permission) =>
      [ROOT, ...limited.grantFoldersBelow(user, ROOT)].some((each) => limited.allows(user, permission, each)),
    isVisible: (user, folder) =>
      [folder, ...limited.grantFoldersBelow(user, folder)].some((each) =>
        permissions.some((permission) => limited.allows(user, permission, each)),
      ),
    grantFoldersBelow(user, folder) {
      if (isWithin(folder)) return policy.grantFoldersBelow(user, folder);
      if (!isAbove(folder)) return [];
      // The paths begin with `folder` as it is spelled in the argument.
      const depth = folder.split('/').length - 1;
      const below = (folder + root.split('/').slice(depth).join('/')) as FolderPath;
      return [below, ...policy.grantFoldersBelow(user, below)];
    },
  };
  return limited;
}
