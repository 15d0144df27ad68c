import { type Creator, hasEnded } from '../access/creator.ts';
import { type Identity, PERMISSIONS, type Permission, type Policy } from '../access/policy.ts';
import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder } from '../model/path.ts';

/** A permission that a link can give. */
export type LinkPermission = Exclude<Permission, 'manage'>;

const LINK_PERMISSIONS = PERMISSIONS.filter((permission) => permission !== 'manage');

/** What users choose for a link. */
export interface LinkSettings {
  readonly permissions: readonly LinkPermission[];
  readonly label: string | undefined;
  readonly expiresAt: Date | undefined;
  /** The hash of the password; undefined without a password. */
  readonly passwordHash: string | undefined;
  readonly maxDownloads: number | undefined;
  readonly maxUploads: number | undefined;
  /** The maximum size of each upload in bytes. */
  readonly maxUploadBytes: number | undefined;
  /** Whether each upload needs the name of its sender. */
  readonly asksSender: boolean;
}

/** A share link, as it was in the database a moment ago. */
export interface Link extends LinkSettings {
  readonly id: string;
  /** The shared file or folder. */
  readonly path: FilePath | FolderPath;
  /** The user whose permissions limit the link; undefined for an anonymous user. */
  readonly creator: Creator | undefined;
  readonly downloads: number;
  /** The uploads whose content has arrived. */
  readonly uploads: number;
  /** The identities of the root and of the shared folder; undefined if they are unknown. */
  readonly identity: string | undefined;
  /** Why it ended; undefined if it did not. */
  readonly ended: LinkEnd | undefined;
  readonly createdAt: Date;
  readonly lastUsedAt: Date | undefined;
  /** Whether it had expired, by the clock of the database. */
  readonly isExpired: boolean;
  /** Whether it was used in the last minute, by the clock of the database. */
  readonly isRecentlyUsed: boolean;
}

/** Why a link ended. `permission`: its creator was removed, or does not manage the place to which its item moved. `item`: its item is gone, or another one has its path. */
export type LinkEnd = 'permission' | 'item';

/** Why visitors can't use a link. `permission`: its creator lost the permissions that it gives, or see `LinkEnd`. */
export type InactiveReason = 'expired' | LinkEnd | 'downloads' | 'uploads';

/** The settings that have no effect without a permission, by their names in the HTTP API and on the command line. */
export const PERMISSION_OF_SETTING = [
  ['maxDownloads', 'read'],
  ['maxUploads', 'write'],
  ['maxUploadBytes', 'write'],
  ['askSender', 'write'],
] as const satisfies readonly (readonly [string, LinkPermission])[];

/** Maximum length of a label in characters. */
const MAX_LABEL_LENGTH = 200;

/** Returns the permissions that a link gives at this moment: those that its creator has at the shared path. */
export function permissionsOf(link: Link, policy: Policy): readonly LinkPermission[] {
  const { path, permissions, creator, ended } = link;
  if (ended !== undefined || (creator && hasEnded(creator, policy))) return [];
  return permissions.filter((permission) => policy.allows(creator, permission, path));
}

/** Returns why visitors can't use a link at this moment; undefined if they can. */
export function inactiveReasonOf(link: Link, policy: Policy): InactiveReason | undefined {
  if (link.isExpired) return 'expired';
  if (link.ended !== undefined) return link.ended;
  const permissions = permissionsOf(link, policy);
  if (permissions.length === 0) return 'permission';
  if (permissions.some((permission) => usesLeft(link, permission) !== 0)) return undefined;
  return permissions.includes('read') ? 'downloads' : 'uploads';
}

/** Returns how many downloads or uploads a link still allows; undefined without a limit. */
export function usesLeft(link: Link, permission: LinkPermission): number | undefined {
  const [max, count] = permission === 'read' ? [link.maxDownloads, link.downloads] : [link.maxUploads, link.uploads];
  return max === undefined ? undefined : Math.max(0, max - count);
}

/**
 * Returns whether a user can see, change and revoke a link: they created it, or they manage the shared path. If access
 * control has no users, everyone can.
 */
export function canAdminister({ path, creator }: Link, user: Identity | undefined, policy: Policy): boolean {
  if (creator !== undefined && user !== undefined && creator.name === user.name) return true;
  return isFolder(path) ? policy.allowsThroughout(user, 'manage', path) : policy.allows(user, 'manage', path);
}

/** Returns permissions without duplicates, in their usual order. Throws `invalid-request` for `write` of a file. */
export function parsePermissions(
  permissions: readonly LinkPermission[],
  path: FilePath | FolderPath,
): readonly LinkPermission[] {
  if (!isFolder(path) && permissions.includes('write')) {
    const message = `A link to a file can only have the permission "read". Share the folder of ${quoted(path)} instead.`;
    throw new StoreError('invalid-request', message);
  }
  return LINK_PERMISSIONS.filter((permission) => permissions.includes(permission));
}

/** Returns a label without outer spaces; undefined for an empty one. Throws `invalid-request`. */
export function parseLabel(text: string | undefined): string | undefined {
  const label = text?.trim();
  if (!label) return undefined;
  if (label.length <= MAX_LABEL_LENGTH && label.isWellFormed() && !/\p{Cc}/u.test(label)) return label;
  const message = `The label ${quoted(label)} must be one line of at most ${MAX_LABEL_LENGTH} characters.`;
  throw new StoreError('invalid-request', message);
}

/** Returns the URL of a link for visitors. `root` is the URL of the service, without a `/` at its end. */
export function linkUrl(root: string, token: string): string {
  return `${root}/-/s/${token}/`;
}

/** Returns the error for an ID that no link has, and for the link of another user. */
export function linkNotFound(id: string): StoreError {
  return new StoreError('not-found', `The link ${quoted(id)} does not exist.`);
}
