import { mediaTypeOf, servedType } from './media-type.ts';
import { type FilePath, nameOf } from './path.ts';
import type { FileEntry } from './store.ts';

/** How a file is given to browsers, wherever its bytes come from. */
export interface Presentation {
  /** Its `Content-Type`. */
  readonly type: string;
  /** Its `Content-Disposition`; undefined where a browser may show it. */
  readonly disposition: string | undefined;
  /** What a browser shows it as; undefined where it may only be kept. */
  readonly shownAs: Shown | undefined;
}

/** Kinds of contents that browsers show by themselves, which need different things for it. */
export type Shown = 'image' | 'media' | 'text' | 'pdf';

/**
 * Whether a file may be shown by browsers, and as which type. It is shown where both the type that is stored and the one
 * that its name tells are known to be inert: whoever stored it chose the one, and whoever renamed it the other. All
 * else is an attachment, with the type that it has. With `download`, everything is.
 */
export function presentationOf(
  { path, type }: Pick<FileEntry, 'path' | 'type'>,
  { download }: { readonly download: boolean },
): Presentation {
  const shownAs = !download && mayBeShown(path) ? INERT.get(essenceOf(type)) : undefined;
  if (shownAs === undefined) return { type: servedType(type), disposition: attachment(path), shownAs };
  return { type: shownType(type), disposition: undefined, shownAs };
}

/** Whether the name of a file is that of one which may be shown, if its type is one too. */
export function mayBeShown(path: FileEntry['path']): boolean {
  return INERT.has(mediaTypeOf(nameOf(path)));
}

/**
 * Types of which no browser makes a document that does anything. Not here on purpose: whatever has scripts, styles or
 * links to other things (HTML, XML of all kinds and so SVG, EPUB, Flash), and texts other than plain ones, for which
 * browsers and their extensions have viewers of their own that make documents of them (JSON, Markdown, CSV, calendars,
 * source code). Archives and the files of offices are kept anyway.
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

/** The type without its parameters, of which browsers would take hints. */
function essenceOf(type: string): string {
  return (type.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Of the parameters only the encoding of a text is kept. */
function shownType(type: string): string {
  const essence = essenceOf(type);
  const charset = /;\s*charset\s*=\s*"?(?<name>[\w.:-]{1,40})"?\s*(?:;|$)/i.exec(type)?.groups?.['name'];
  return essence.startsWith('text/') && charset !== undefined ? `${essence}; charset=${charset}` : servedType(essence);
}

/**
 * `Content-Disposition: attachment` with the file's name, in ASCII for old clients and whole in UTF-8 (RFC 6266).
 * Presigned URLs of object stores carry it as well, so that a download is one wherever it comes from.
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
