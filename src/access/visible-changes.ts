import type { LoggedChange } from '../model/change.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';
import type { Identity, Policy } from './policy.ts';

type Path = FilePath | FolderPath;

/**
 * Returns a change as a user may see it, if it affects the file or folder `scope`, or anything in it. A move between a readable and an
 * unreadable folder is a deletion or a creation for the user; a move of a folder of which the user can read only a part
 * is both. Returns no change if the user can read neither path.
 */
export function visibleChanges(
  change: LoggedChange,
  { policy, user, scope }: { readonly policy: Policy; readonly user: Identity | undefined; readonly scope: Path },
): readonly LoggedChange[] {
  const affects = ({ type, path, from }: LoggedChange) =>
    type === 'resync' || isAffected(policy, path, scope) || (from !== undefined && isAffected(policy, from, scope));
  return splitByVisibility(change, policy, user).filter(affects);
}

/** Returns a change as anonymous users may see it. */
export function withoutUser(change: LoggedChange): LoggedChange {
  const { user: _, ...rest } = change;
  return rest;
}

function splitByVisibility(change: LoggedChange, policy: Policy, user: Identity | undefined): readonly LoggedChange[] {
  const { type, path, from, ...details } = change;
  if (type === 'resync') return [change];
  const isPathVisible = isVisible(policy, user, path);
  if (from === undefined) return isPathVisible ? [change] : [];
  if (canReadAll(policy, user, from) && canReadAll(policy, user, path)) return [change];
  const kind = isFolder(path) ? 'folder' : 'file';
  const isMove = type === 'file.moved' || type === 'folder.moved';
  return [
    ...(isMove && isVisible(policy, user, from) ? [{ ...details, type: `${kind}.deleted`, path: from } as const] : []),
    ...(isPathVisible ? [{ ...details, type: `${kind}.created`, path } as const] : []),
  ];
}

/** Returns whether a listing shows the path to the user, if it exists: see `listVisible`. */
export function isVisible(policy: Policy, user: Identity | undefined, path: Path): boolean {
  if (policy.allows(user, 'read', path)) return true;
  if (!isFolder(path) || path === ROOT || !policy.isVisible(user, path)) return false;
  const parent = parentOf(path);
  if (policy.allows(user, 'read', parent)) return true;
  // Without permission to read the parent, only folders that lead to the folder of a grant are visible.
  const { certain } = policy.names;
  return policy.grantFoldersBelow(user, parent).some((folder) => certain(folder).startsWith(certain(path)));
}

const canReadAll = (policy: Policy, user: Identity | undefined, path: Path) =>
  isFolder(path) ? policy.allowsThroughout(user, 'read', path) : policy.allows(user, 'read', path);

/** Returns whether a change of `path` affects `scope`: they are the same, or one of them is a folder that contains the other. */
export function isAffected({ names }: Policy, path: Path, scope: Path): boolean {
  if (scope === ROOT) return true;
  // Stores that fold names can spell one path differently.
  const [pathKey, scopeKey] = [names.possible(path), names.possible(scope)];
  if (pathKey === scopeKey) return true;
  return (isFolder(scope) && pathKey.startsWith(scopeKey)) || (isFolder(path) && scopeKey.startsWith(pathKey));
}
