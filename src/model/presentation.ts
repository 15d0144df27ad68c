import { mediaTypeOf, servedType } from './media-type.ts';
import { type FilePath, nameOf } from './path.ts';
import type { FileEntry } from './store.ts';

/** The headers with which a file is served to browsers, by the service or by a store. */
export interface Presentation {
  /** The `Content-Type` header. */
  readonly type: string;
  /** The `Content-Disposition` header; undefined if browsers may display the file. */
  readonly disposition: string | undefined;
  /** The kind of content that browsers display; undefined if they may only download the file. */
  readonly shownAs: Shown | undefined;
}

/** Kinds of content that browsers display. Each needs a different isolation. */
export type Shown = 'image' | 'media' | 'text' | 'pdf';

/**
 * Returns how browsers may receive a file. They may display it only if the stored type and the type for its name are
 * both inert. Different users can choose the two: one uploads the file, another renames it. All other files are
 * attachments with their stored type. With `download`, every file is an attachment.
 */
export function presentationOf(
  { path, type }: Pick<FileEntry, 'path' | 'type'>,
  { download }: { readonly download: boolean },
): Presentation {
  const shownAs = !download && mayBeShown(path) ? INERT.get(essenceOf(type)) : undefined;
  if (shownAs === undefined) return { type: servedType(type), disposition: attachment(path), shownAs };
  return { type: shownType(type), disposition: undefined, shownAs };
}

/** Returns whether browsers may display a file with this name, if its stored type is also inert. */
export function mayBeShown(path: FileEntry['path']): boolean {
  return INERT.has(mediaTypeOf(nameOf(path)));
}

/**
 * Media types for which no browser creates an active document. Excludes types that can contain scripts, styles or
 * external references: HTML, all XML and so SVG, EPUB, Flash. Also excludes text other than plain text (JSON,
 * Markdown, CSV, calendars, source code), because browsers and extensions have viewers that turn it into documents.
 * Browsers download archives and office documents anyway.
 */
const INERT: ReadonlyMap<string, Shown> = new Map([
  ...inert('image', 'image', 'jpeg jpg pjpeg png apng gif webp avif bmp x-ms-bmp x-icon vnd.microsoft.icon'),
  ...inert('image', 'image', 'tiff heic heif jxl'),
  ...inert('media', 'audio', 'aac flac x-flac mp3 mpeg mp4 x-m4a ogg opus wav x-wav wave vnd.wave webm 3gpp'),
  ...inert('media', 'video', 'mp4 x-m4v webm ogg quicktime x-matroska matroska mpeg 3gpp x-msvideo'),
  ...inert('text', 'text', 'plain'),
  ...inert('pdf', 'application', 'pdf'),
]);

function inert(shown: Shown, type: string, subtypes: string): [string, Shown][] {
  return subtypes.split(' ').map((subtype) => [`${type}/${subtype}`, shown]);
}

/** Returns the media type without parameters, which could affect how browsers interpret the content. */
function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Returns the type to display. Of the parameters, only the charset of a text remains. */
function shownType(type: string): string {
  const essence = essenceOf(type);
  const charset = /;\s*charset\s*=\s*"?(?<name>[\w.:-]{1,40})"?\s*(?:;|$)/i.exec(type)?.groups?.['name'];
  return essence.startsWith('text/') && charset !== undefined ? `${essence}; charset=${charset}` : servedType(essence);
}

/**
 * Returns `Content-Disposition: attachment` with the file name, in ASCII for old clients and in UTF-8 (RFC 6266).
 * Presigned URLs of object stores also send this header, so that browsers always download the file.
 */
export function attachment(file: FilePath): string {
  const name = nameOf(file);
  const ascii = name.replace(/[^\x20-\x7e]/gu, '_').replace(/["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
