import type { Policy } from '../access/policy.ts';
import { isFolder, nameOf } from '../model/path.ts';
import { inactiveReasonOf, type Link, permissionsOf, usesLeft } from './link.ts';

/** Returns a link as users see it, in the HTTP API and on the command line. */
export function describeLink(link: Link, policy: Policy) {
  const { maxDownloads, maxUploads, maxUploadBytes } = link;
  const inactiveReason = inactiveReasonOf(link, policy);
  return {
    id: link.id,
    path: link.path,
    type: typeOf(link),
    permissions: [...link.permissions],
    ...(link.label !== undefined && { label: link.label }),
    ...(link.creator && { creator: link.creator.name }),
    createdAt: link.createdAt.toISOString(),
    ...(link.expiresAt && { expiresAt: link.expiresAt.toISOString() }),
    hasPassword: link.passwordHash !== undefined,
    ...(maxDownloads !== undefined && { maxDownloads }),
    downloads: link.downloads,
    ...(maxUploads !== undefined && { maxUploads }),
    uploads: link.uploads,
    ...(maxUploadBytes !== undefined && { maxUploadBytes }),
    askSender: link.asksSender,
    ...(link.lastUsedAt && { lastUsedAt: link.lastUsedAt.toISOString() }),
    active: inactiveReason === undefined,
    ...(inactiveReason && { inactiveReason }),
  };
}

/** Returns a link as its visitors see it. It has nothing about its creator, and nothing about the path above. */
export function describeForVisitor(link: Link, policy: Policy) {
  const { label, expiresAt, maxUploadBytes } = link;
  const [uploadsLeft, downloadsLeft] = [usesLeft(link, 'write'), usesLeft(link, 'read')];
  return {
    type: typeOf(link),
    name: nameOf(link.path),
    ...(label !== undefined && { label }),
    permissions: [...permissionsOf(link, policy)],
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
    askSender: link.asksSender,
    ...(maxUploadBytes !== undefined && { maxUploadBytes }),
    ...(uploadsLeft !== undefined && { uploadsLeft }),
    ...(downloadsLeft !== undefined && { downloadsLeft }),
  };
}

const typeOf = ({ path }: Link) => (isFolder(path) ? ('folder' as const) : ('file' as const));
