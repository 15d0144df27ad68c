import { extensionOf, mediaTypeOf } from './file-kinds.ts';
import type { FileEntry } from './service/service.ts';
import type { InitialText } from './text/language.ts';

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
