import { splitName } from './paths.ts';
import type { Entry, FileEntry } from './service/service.ts';
import type { InitialText } from './text/language.ts';

/*
 * What kind of file an entry is: the family that its icon shows, its name for users, and whether images of it exist.
 * `preview-kinds.ts`, which loads with the viewer, decides about previews.
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

/**
 * Returns the common name of a file type: `JPEG image`, `Python source`, `Plain text`. Uses the media type, and the
 * extension if it is more specific.
 */
export function typeLabel(
  { name, contentType }: Pick<FileEntry, 'name' | 'contentType'>,
  { types }: InitialText,
): string {
  const type = mediaTypeOf(contentType);
  const suffix = extensionOf(name);
  const language = LANGUAGES.get(suffix) ?? LANGUAGES.get(type);
  if (language !== undefined && SOURCE_TYPE.test(type)) return types.source({ language });
  const [formatGroup, format] =
    FORMATS.get(type) ?? (UNSPECIFIC_TYPE.test(type) ? FORMATS.get(suffix) : undefined) ?? [];
  if (formatGroup !== undefined && format !== undefined) return types[formatGroup]({ format });

  const [group = '', subtype = ''] = type.split('/');
  if (isMedium(group)) return types[group]({ format: formatOf(subtype, suffix) });
  if (type === 'text/plain') return types.plainText;
  return suffix === '' ? types.unknown : types.other({ extension: suffix.toUpperCase() });
}

type Medium = 'image' | 'video' | 'audio' | 'font';
type FormatGroup = Medium | 'document' | 'spreadsheet' | 'presentation' | 'archive' | 'table';

function isMedium(group: string): group is Medium {
  return group === 'image' || group === 'video' || group === 'audio' || group === 'font';
}

/** Returns the name of the format: `WebP` for `webp`, `PSD` for `vnd.adobe.photoshop` and the extension `psd`. */
function formatOf(subtype: string, suffix: string): string {
  const plain = subtype.replace(/^(x-|vnd\.)+/, '').replace(/\+.*/s, '');
  return SPELLINGS.get(plain) ?? (plain.length <= 5 || suffix === '' ? plain : suffix).toUpperCase();
}

const SPELLINGS = new Map(
  Object.entries({
    webp: 'WebP',
    webm: 'WebM',
    quicktime: 'QuickTime',
    matroska: 'Matroska',
    mpeg: 'MPEG',
    ogg: 'Ogg',
    opus: 'Opus',
    icon: 'ICO',
    'microsoft.icon': 'ICO',
    'ms-bmp': 'BMP',
    '3gpp': '3GP',
  }),
);

/** Media types that don't identify a format. */
const UNSPECIFIC_TYPE = /^(|application\/octet-stream|binary\/octet-stream|text\/plain)$/;
/** Media types that source code is served with. Most tables map the extension of TypeScript to `video/mp2t`. */
const SOURCE_TYPE = /^(|text\/.*|application\/.*|binary\/octet-stream|video\/mp2t)$/;

/** Programming languages by extension or media type. */
const LANGUAGES = new Map(
  Object.entries({
    bash: 'Shell',
    c: 'C',
    cc: 'C++',
    cpp: 'C++',
    cs: 'C#',
    css: 'CSS',
    cts: 'TypeScript',
    go: 'Go',
    h: 'C',
    hpp: 'C++',
    html: 'HTML',
    htm: 'HTML',
    java: 'Java',
    js: 'JavaScript',
    jsx: 'JavaScript',
    kt: 'Kotlin',
    lua: 'Lua',
    mjs: 'JavaScript',
    mts: 'TypeScript',
    php: 'PHP',
    pl: 'Perl',
    py: 'Python',
    r: 'R',
    rb: 'Ruby',
    rs: 'Rust',
    scss: 'SCSS',
    sh: 'Shell',
    sql: 'SQL',
    swift: 'Swift',
    ts: 'TypeScript',
    tsx: 'TypeScript',
    vue: 'Vue',
    'application/javascript': 'JavaScript',
    'text/css': 'CSS',
    'text/html': 'HTML',
    'text/javascript': 'JavaScript',
    'text/x-python': 'Python',
    'application/x-sh': 'Shell',
  }),
);

const OFFICE = 'application/vnd.openxmlformats-officedocument.';
const OPEN = 'application/vnd.oasis.opendocument.';

/** Formats by media type, or by extension if the media type is unspecific. */
const FORMATS = new Map(
  Object.entries<readonly [FormatGroup, string]>({
    'application/pdf': ['document', 'PDF'],
    'application/json': ['document', 'JSON'],
    'application/ld+json': ['document', 'JSON'],
    'application/xml': ['document', 'XML'],
    'text/xml': ['document', 'XML'],
    'text/markdown': ['document', 'Markdown'],
    'text/yaml': ['document', 'YAML'],
    'application/toml': ['document', 'TOML'],
    'application/rtf': ['document', 'RTF'],
    'application/epub+zip': ['document', 'EPUB'],
    'application/msword': ['document', 'Word'],
    [`${OFFICE}wordprocessingml.document`]: ['document', 'Word'],
    [`${OPEN}text`]: ['document', 'OpenDocument'],
    'application/vnd.ms-excel': ['spreadsheet', 'Excel'],
    [`${OFFICE}spreadsheetml.sheet`]: ['spreadsheet', 'Excel'],
    [`${OPEN}spreadsheet`]: ['spreadsheet', 'OpenDocument'],
    'application/vnd.ms-powerpoint': ['presentation', 'PowerPoint'],
    [`${OFFICE}presentationml.presentation`]: ['presentation', 'PowerPoint'],
    [`${OPEN}presentation`]: ['presentation', 'OpenDocument'],
    'text/csv': ['table', 'CSV'],
    'text/tab-separated-values': ['table', 'TSV'],
    'application/zip': ['archive', 'ZIP'],
    'application/x-tar': ['archive', 'TAR'],
    'application/gzip': ['archive', 'Gzip'],
    'application/x-bzip2': ['archive', 'Bzip2'],
    'application/x-xz': ['archive', 'XZ'],
    'application/zstd': ['archive', 'Zstandard'],
    'application/x-7z-compressed': ['archive', '7-Zip'],
    'application/vnd.rar': ['archive', 'RAR'],
    'application/x-rar-compressed': ['archive', 'RAR'],
    'application/java-archive': ['archive', 'JAR'],
    'audio/mpeg': ['audio', 'MP3'],
    'audio/x-m4a': ['audio', 'M4A'],
    'audio/mp4': ['audio', 'M4A'],
    json: ['document', 'JSON'],
    md: ['document', 'Markdown'],
    yaml: ['document', 'YAML'],
    yml: ['document', 'YAML'],
    toml: ['document', 'TOML'],
    xml: ['document', 'XML'],
    csv: ['table', 'CSV'],
    tsv: ['table', 'TSV'],
    zip: ['archive', 'ZIP'],
    pdf: ['document', 'PDF'],
    avif: ['image', 'AVIF'],
    heic: ['image', 'HEIC'],
  }),
);
