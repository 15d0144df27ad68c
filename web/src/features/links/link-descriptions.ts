import { accessOf } from '../../model/links/link-form.ts';
import { sharedName } from '../../model/links/revoke.ts';
import type { Link } from '../../platform/service/links.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { FullLanguage, Text } from '../../platform/text/language.ts';
import { knownEntry } from '../items/known-entry.ts';

/** Returns the entry of the shared file or folder. A link contains only its type and its path. */
export function entryOf({ type, path }: Link, text: Text): Entry {
  return { ...knownEntry({ type, path }), name: sharedName(path, text) };
}

/** Returns what visitors can do: `Can view`. */
export function describeAccess({ permissions }: Link, { links }: Text): string {
  return links.kinds[accessOf(permissions)];
}

/** Returns when the link expires, or why visitors can't use it. */
export function describeState({ inactiveReason, expiresAt }: Link, { text, formats }: FullLanguage): string {
  const { links } = text;
  if (inactiveReason !== undefined) return links.inactive[inactiveReason];
  return expiresAt === undefined ? links.neverExpires : links.expires({ time: formats.time(new Date(expiresAt)) });
}

/** Returns when visitors last used the link; undefined if it is unused. */
export function describeLastUse({ lastUsedAt }: Link, { text, formats }: FullLanguage): string | undefined {
  return lastUsedAt === undefined ? undefined : text.links.lastUsed({ time: formats.time(new Date(lastUsedAt)) });
}

/** Returns how often visitors have used the link: `3 of 10 downloads`. */
export function describeUse(link: Link, { links }: Text): string {
  const { permissions, downloads, maxDownloads, uploads, maxUploads } = link;
  const parts: string[] = [];
  if (permissions.includes('read')) {
    parts.push(
      maxDownloads === undefined
        ? links.downloads({ count: downloads })
        : links.downloadsOf({ count: downloads, max: maxDownloads }),
    );
  }
  if (permissions.includes('write')) {
    parts.push(
      maxUploads === undefined
        ? links.uploads({ count: uploads })
        : links.uploadsOf({ count: uploads, max: maxUploads }),
    );
  }
  return parts.join(' · ');
}
