import { splitName } from './paths.ts';
import type { Entry, FileEntry } from './service/service.ts';

/*
 * What kind of file an entry is: the family that its icon shows, and whether images of it exist. `type-names.ts` has the
 * names of types for users. `preview-kinds.ts`, which loads with the viewer, decides about previews.
 */

/** Returns a media type in lower case, without its parameters. */
export function mediaTypeOf(contentType: string): string {
  return contentType.toLowerCase().split(';', 1)[0] ?? '';
}

/** Returns the last extension of a name in lower case, without its dot; empty without an extension. */
export function extensionOf(name: string): string {
  const { extension } = splitName(name);
  return extension.slice(extension.lastIndexOf('.') + 1).toLowerCase();
}

/** The families of entries that have icons of their own. */
export type Family =
  | 'folder'
  | 'image'
  | 'video'
  | 'audio'
  | 'text'
  | 'code'
  | 'table'
  | 'document'
  | 'archive'
  | 'other';

/** Returns the family of an entry, by its media type. */
export function familyOf(entry: Entry): Family {
  if (entry.type === 'folder') return 'folder';
  const [type = ''] = entry.contentType.split(';');
  return FAMILIES.find(([, pattern]) => pattern.test(type))?.[0] ?? 'other';
}

/** The first match decides. `video/mp2t` is usually TypeScript. */
const FAMILIES: readonly (readonly [Family, RegExp])[] = [
  ['image', /^image\//],
  ['video', /^video\/(?!mp2t)/],
  ['audio', /^audio\//],
  ['table', /csv|tab-separated|spreadsheet|ms-excel/],
  ['document', /pdf|msword|wordprocessing|presentation|powerpoint|opendocument|rtf|epub/],
  ['archive', /zip|x-tar|gzip|x-bzip|x-xz|7z|rar|compressed|zstd|java-archive/],
  ['code', /json|javascript|typescript|xml|html|css|x-sh|x-python|x-httpd|yaml|toml|sql|^text\/x-|mp2t/],
  ['text', /^text\//],
];

/** Media types for which the service creates thumbnails, and the maximum size of a source image in bytes. */
const THUMBNAIL_TYPES = /^image\/(jpeg|png|webp|gif|avif|tiff|svg\+xml)/;
const MAX_THUMBNAIL_BYTES = 50e6;

/** Returns whether the service creates a thumbnail of the entry. */
export function hasThumbnail(entry: Entry): entry is FileEntry {
  return (
    entry.type === 'file' &&
    THUMBNAIL_TYPES.test(entry.contentType) &&
    entry.size > 0 &&
    entry.size <= MAX_THUMBNAIL_BYTES
  );
}

/** Returns whether all supported browsers show a local file of this type in an `img` element. SVG scripts don't run there. */
export function isDisplayableImage({ type, size }: Blob): boolean {
  return /^image\/(jpeg|png|webp|gif|avif|bmp|svg\+xml)$/.test(type) && size <= MAX_THUMBNAIL_BYTES;
}
