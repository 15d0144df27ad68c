import { types } from 'mime-types';
import { type FilePath, nameOf } from './path.ts';
import type { FileEntry } from './store.ts';

/** How browsers receive a file, from the service or from a presigned URL of a store. */
export interface Presentation {
  /** The media type to send. */
  readonly type: string;
  /** The kind of content that browsers display; undefined if the file is an attachment, which they save. */
  readonly displayKind: DisplayKind | undefined;
}

/** Kinds of content that browsers display. Each needs a different isolation. */
export type DisplayKind = 'image' | 'media' | 'text' | 'pdf';

/**
 * Returns how browsers receive a file. They may display it only if the stored type and the type for its name are both
 * inert. Different users can choose the two: one uploads the file, another renames it. All other files are attachments
 * with their stored type, except SVG under another name, which has no type. With `download`, every file is an attachment.
 */
export function presentationOf(
  { path, type }: Pick<FileEntry, 'path' | 'type'>,
  { download }: { readonly download: boolean },
): Presentation {
  const displayKind = !download && isDisplayable(path) ? INERT_TYPES.get(essenceOf(type)) : undefined;
  if (displayKind !== undefined) return { type: displayedType(type), displayKind };
  return { type: isMisnamedSvg({ path, type }) ? UNKNOWN_TYPE : servedType(type), displayKind };
}

/**
 * Returns whether a file is an SVG under the name of another type. Drawing an SVG can block a page. The web UI examines
 * SVG files first, and recognizes them by their names.
 */
function isMisnamedSvg({ path, type }: Pick<FileEntry, 'path' | 'type'>): boolean {
  return essenceOf(type) === SVG && mediaTypeOf(nameOf(path)) !== SVG;
}

const SVG = 'image/svg+xml';

/** Returns whether browsers may display a file with this name, if its stored type is also inert. */
export function isDisplayable(path: FileEntry['path']): boolean {
  return INERT_TYPES.has(mediaTypeOf(nameOf(path)));
}

/**
 * Media types for which no browser creates an active document. Excludes types that can contain scripts, styles or
 * external references: HTML, all XML and so SVG, EPUB, Flash. Also excludes text other than plain text (JSON,
 * Markdown, CSV, calendars, source code), because browsers and extensions have viewers that turn it into documents.
 * Browsers download archives and office documents anyway.
 */
const INERT_TYPES: ReadonlyMap<string, DisplayKind> = new Map([
  ...inertTypes('image', 'image', 'jpeg jpg pjpeg png apng gif webp avif bmp x-ms-bmp x-icon vnd.microsoft.icon'),
  ...inertTypes('image', 'image', 'tiff heic heif jxl'),
  ...inertTypes('media', 'audio', 'aac flac x-flac mp3 mpeg mp4 x-m4a ogg opus wav x-wav wave vnd.wave webm 3gpp'),
  ...inertTypes('media', 'video', 'mp4 x-m4v webm ogg quicktime x-matroska matroska mpeg 3gpp x-msvideo'),
  ...inertTypes('text', 'text', 'plain'),
  ...inertTypes('pdf', 'application', 'pdf'),
]);

function inertTypes(kind: DisplayKind, type: string, subtypes: string): [string, DisplayKind][] {
  return subtypes.split(' ').map((subtype) => [`${type}/${subtype}`, kind]);
}

/** Returns the media type without parameters, which could affect how browsers interpret the content. */
function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Returns the type to display. Of the parameters, only the charset of a text remains. */
function displayedType(type: string): string {
  const essence = essenceOf(type);
  const charset = /;\s*charset\s*=\s*"?(?<name>[\w.:-]{1,40})"?\s*(?:;|$)/i.exec(type)?.groups?.['name'];
  return essence.startsWith('text/') && charset !== undefined ? `${essence}; charset=${charset}` : servedType(essence);
}

/**
 * Returns the `Content-Disposition` of an attachment: the file name in ASCII for old clients and in UTF-8 (RFC 6266).
 * Shared by the service and the stores, because presigned URLs make object stores send the same value.
 */
export function attachmentHeader(file: FilePath): string {
  return attachmentHeaderOf(nameOf(file));
}

/** Returns the `Content-Disposition` of an attachment with this name. */
export function attachmentHeaderOf(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** The media type of files whose type is unknown (RFC 2046, section 4.5.1). */
export const UNKNOWN_TYPE = 'application/octet-stream';

/** Returns the media type for the extension of a file name. A name without a dot has no extension. */
export function mediaTypeOf(name: string): string {
  // Four times as fast as `lookup` of `mime-types`, which matters for listings of a thousand files.
  const dot = name.lastIndexOf('.');
  if (dot <= name.lastIndexOf('/')) return UNKNOWN_TYPE;
  return TYPES[name.slice(dot + 1).toLowerCase()] ?? UNKNOWN_TYPE;
}

/**
 * Media types by extension. `mime-types` has `image/pjpeg` for JPEG files of Windows, which is no registered type. Cameras of
 * Canon, Nikon and Sony name HEIF images `.hif`.
 */
const TYPES: typeof types = Object.assign(Object.create(null), types, {
  jfif: 'image/jpeg',
  jif: 'image/jpeg',
  pjp: 'image/jpeg',
  pjpeg: 'image/jpeg',
  hif: 'image/heif',
});

/**
 * Returns the media type to store for an upload: the declared type, or the type for the name if none is declared.
 * Clients that don't know the type send `application/octet-stream`, so it counts as undeclared.
 */
export function mediaTypeOfUpload(declared: string | undefined, name: string): string {
  return declared === undefined || declared === UNKNOWN_TYPE || !MEDIA_TYPE.test(declared)
    ? mediaTypeOf(name)
    : declared;
}

/** Returns the media type for responses. Text without a charset parameter gets UTF-8, which nearly all text uses. */
export function servedType(type: string): string {
  return /^text\/[^;]+$/.test(type) ? `${type}; charset=utf-8` : type;
}

/**
 * Matches `type/subtype` with parameters (RFC 9110, section 8.3.1), at most 255 characters, so that every store
 * accepts it. Control and non-ASCII characters are invalid, because no store accepts them in a header.
 */
const MEDIA_TYPE =
  /^(?=.{1,255}$)[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+(?:[ \t]*;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[\t !#-[\]-~]*"))*$/;
