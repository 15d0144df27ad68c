import type { Embedded } from './embedded.ts';
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

/** The families of entries that have icons of their own. Each is also the name of its icon. */
export type Family =
  | 'folder'
  | 'image'
  | 'video'
  | 'audio'
  | 'font'
  | 'pdf'
  | 'word'
  | 'excel'
  | 'powerpoint'
  | 'document'
  | 'table'
  | 'slides'
  | 'book'
  | 'mail'
  | 'archive'
  | 'code'
  | 'text'
  | 'file';

/** Returns the family of an entry: by its media type, or by its extension if that says nothing. */
export function familyOf(entry: Entry): Family {
  if (entry.type === 'folder') return 'folder';
  const type = mediaTypeOf(entry.contentType);
  const suffix = extensionOf(entry.name);
  const isUnspecific = /^(|(application|binary)\/octet-stream|text\/plain)$/.test(type);
  return (
    FAMILIES.find(
      ([, types, suffixes]) => (types.test(type) && type !== 'text/plain') || (isUnspecific && suffixes.test(suffix)),
    )?.[0] ?? (type === 'text/plain' ? 'text' : 'file')
  );
}

/** Media types and extensions. The first match decides. `video/mp2t` is usually TypeScript. */
const FAMILIES: readonly (readonly [Family, RegExp, RegExp])[] = [
  ['image', /^image\//, /^(jpe?g|jfif|png|gif|webp|avif|hei[cf]|jxl|tiff?|bmp|svgz?|raw|dng|cr[23]|nef|arw|psd)$/],
  ['video', /^video\/(?!mp2t)/, /^(mp4|m4v|mov|mkv|webm|avi|ogv)$/],
  ['audio', /^audio\//, /^(mp3|m4a|wav|flac|ogg|opus|aac)$/],
  ['font', /^font\/|font-/, /^(ttf|otf|woff2?)$/],
  ['pdf', /\/pdf$/, /^pdf$/],
  ['word', /msword|ms-word|wordprocessingml/, /^do[ct][xm]?$/],
  ['excel', /ms-excel|spreadsheetml/, /^xl[st][xmb]?$/],
  ['powerpoint', /powerpoint|presentationml/, /^p[po][tps]x?$/],
  ['slides', /presentation|keynote/, /^(odp|key)$/],
  ['table', /csv|tab-separated|spreadsheet|numbers/, /^(csv|tsv|ods|numbers)$/],
  ['book', /epub|mobipocket/, /^(epub|mobi|azw3?)$/],
  ['document', /opendocument|rtf|pages$/, /^(odt|rtf|pages)$/],
  ['mail', /^message\/|ms-outlook/, /^(eml|msg|mbox)$/],
  [
    'archive',
    /zip|x-tar|gzip|x-bzip|x-xz|7z|rar|compressed|zstd|java-archive|diskimage/,
    /^(zip|tar|t?gz|bz2|xz|7z|rar|zst|jar|dmg|iso)$/,
  ],
  [
    'code',
    /json|javascript|typescript|xml|html|css|x-sh|x-python|x-httpd|yaml|toml|sql|^text\/x-|mp2t/,
    /^([cm]?[jt]sx?|json5?|jsonl|ya?ml|toml|xml|html?|s?css|py|rb|php|go|rs|java|kt|swift|c|h|cc|cpp|hpp|cs|lua|r|sql|sh|bash|zsh|ps1|bat|vue|ini|conf|env|dockerfile)$/,
  ],
  ['text', /^text\//, /^(txt|log|md|markdown)$/],
];

/** Media types for which the service creates thumbnails, and the maximum size of a source image in bytes. */
const THUMBNAIL_TYPES = /^image\/(p?jpeg|png|webp|gif|avif|tiff|svg\+xml)/;
const MAX_THUMBNAIL_BYTES = 50e6;

/** Returns whether the entry is an image of which the service creates a thumbnail. */
export function hasThumbnail(entry: Entry): entry is FileEntry {
  return (
    entry.type === 'file' &&
    THUMBNAIL_TYPES.test(entry.contentType) &&
    entry.size > 0 &&
    entry.size <= MAX_THUMBNAIL_BYTES
  );
}

/** Returns whether the service draws the entry as a file of the kinds in `stills`. Of a video, it reads only parts. */
export function hasStill(entry: Entry, stills: Embedded['stills']): entry is FileEntry {
  if (entry.type !== 'file' || entry.size === 0) return false;
  const kind = stills.find((each) => STILL_TYPES[each].test(entry.contentType));
  return kind === 'video' || (kind !== undefined && entry.size <= MAX_THUMBNAIL_BYTES);
}

/** Media types of the files that only other programs draw. `video/mp2t` is usually TypeScript. */
const STILL_TYPES = { video: /^video\/(?!mp2t)/, pdf: /^application\/pdf/, heic: /^image\/hei[cf]/ };

/** Returns whether all supported browsers show a local file of this type in an `img` element. SVG scripts don't run there. */
export function isDisplayableImage({ type, size }: Blob): boolean {
  return /^image\/(jpeg|png|webp|gif|avif|bmp|svg\+xml)$/.test(type) && size <= MAX_THUMBNAIL_BYTES;
}

/** The minimum number of files in an album, and the part of them that are images. */
const MIN_ALBUM_FILES = 8;
const MIN_ALBUM_PART = 0.8;

/** Returns whether a folder contains mostly photos. */
export function isAlbum(entries: readonly Entry[], minFiles = MIN_ALBUM_FILES): boolean {
  const files = entries.filter(({ type }) => type === 'file');
  return (
    files.length >= minFiles && files.filter((entry) => hasThumbnail(entry)).length >= files.length * MIN_ALBUM_PART
  );
}
