import { extensionOf, mediaTypeOf } from './file-kinds.ts';
import { splitName } from './paths.ts';
import type { FileEntry } from './service/service.ts';

/** The kind of preview of a file; `none` without a preview. */
export type PreviewKind =
  | 'image'
  | 'video'
  | 'audio'
  | 'pdf'
  | 'markdown'
  | 'json'
  | 'table'
  | 'office'
  | 'text'
  | 'none';

/** The maximum size in bytes of Markdown and JSON. Larger files are shown as text, in parts. */
const MAX_STRUCTURED_BYTES = 2e6;
/** The same for tables, of which only the visible rows are rendered. */
const MAX_TABLE_BYTES = 20e6;
/** The same for office documents and e-mails, of which the text is shown. */
const MAX_OFFICE_BYTES = 20e6;
/** The maximum size in bytes of a file of unknown type that is read to detect text. */
const MAX_SNIFFED_BYTES = 1e6;

/** Returns how the viewer shows a file, by media type, extension and size. */
export function previewKindOf({ name, size, contentType }: FileEntry): PreviewKind {
  if (size === 0) return 'none';
  const type = mediaTypeOf(contentType);
  const suffix = extensionOf(name);
  const isUnspecific = /^(|(application|binary)\/octet-stream)$/.test(type);

  const [mediaKind] =
    MEDIA_KINDS.find(([, types, suffixes]) => types.test(type) || (isUnspecific && suffixes.test(suffix))) ?? [];
  // The service sends a PDF with another extension as an attachment, which frames don't show.
  if (mediaKind === 'pdf' && suffix !== 'pdf') return 'none';
  if (mediaKind !== undefined && !isSource(type, suffix)) return mediaKind;
  if (officeFormatOf({ name, contentType })) return size <= MAX_OFFICE_BYTES ? 'office' : 'none';
  if (isUnspecific && !TEXT_EXTENSIONS.test(suffix) && size > MAX_SNIFFED_BYTES) return 'none';
  if (!isUnspecific && !TEXT_TYPES.test(type) && !isSource(type, suffix) && !TEXT_EXTENSIONS.test(suffix))
    return 'none';

  const isTable = /^text\/(csv|tab-separated-values)$/.test(type) || /^(csv|tsv)$/.test(suffix);
  if (isTable && size <= MAX_TABLE_BYTES) return 'table';
  if (size > MAX_STRUCTURED_BYTES) return 'text';
  if (type === 'text/markdown' || /^(md|markdown|mdown)$/.test(suffix)) return 'markdown';
  if (/[/+]json$/.test(type) || /^(json|geojson|webmanifest)$/.test(suffix)) return 'json';
  return 'text';
}

/** The formats of documents whose text is shown. */
export type OfficeFormat = 'docx' | 'xlsx' | 'pptx' | 'odt' | 'ods' | 'odp' | 'eml';

/** Returns the format of an office document or an e-mail; undefined for any other file. Their extensions are unambiguous. */
export function officeFormatOf({
  name,
  contentType,
}: Pick<FileEntry, 'name' | 'contentType'>): OfficeFormat | undefined {
  const suffix = extensionOf(name);
  const found = /^(docx|xlsx|pptx|odt|ods|odp|eml)$/.exec(suffix)?.[0];
  return mediaTypeOf(contentType).startsWith('image/') ? undefined : (found as OfficeFormat | undefined);
}

/** The maximum size in bytes of a file in the editor. */
export const MAX_EDITED_BYTES = 2_000_000;

/** Returns whether the editor opens a file. An empty one has no preview. */
export function isEditable(entry: FileEntry): boolean {
  if (entry.size > MAX_EDITED_BYTES) return false;
  const kind = previewKindOf(entry.size === 0 ? { ...entry, size: 1 } : entry);
  return ['text', 'markdown', 'json', 'table'].includes(kind) || (isSvg(entry) && !/z$/i.test(entry.name));
}

/** Returns whether browsers might draw the file as an SVG. The service sends an SVG only under the name of one. */
export function isSvg({ name, contentType }: Pick<FileEntry, 'name' | 'contentType'>): boolean {
  return mediaTypeOf(contentType) === 'image/svg+xml' || /^svgz?$/.test(extensionOf(name));
}

/** Returns whether the file is TypeScript, which many tables of media types list as MPEG video. */
function isSource(type: string, suffix: string): boolean {
  return type === 'video/mp2t' && /^[cm]?ts$/.test(suffix);
}

/** Kinds by media type, or by extension if the type is unspecific. A PDF needs the media type. */
const MEDIA_KINDS: readonly (readonly [PreviewKind, RegExp, RegExp])[] = [
  [
    'image',
    /^image\/(p?jpeg|jpg|a?png|x-png|webp|gif|avif|svg\+xml|bmp|x-ms-bmp|x-icon|vnd\.microsoft\.icon|tiff|hei[cf]|jxl)$/,
    /^(jpe?g|jfif|png|webp|gif|avif|bmp|ico)$/,
  ],
  ['video', /^video\//, /^(mp4|m4v|webm|mov|mkv|ogv)$/],
  ['audio', /^(audio\/|application\/ogg$)/, /^(mp3|m4a|wav|flac|ogg|oga|opus|aac)$/],
  ['pdf', /^application\/pdf$/, /(?!)/],
];

const TEXT_TYPES =
  /^text\/|[/+](json|xml|yaml|toml)$|^application\/((x-|ld\+)?(json|ndjson|javascript|ecmascript|typescript|yaml|toml|sql|sh|csh|httpd-php|php|perl|python|ruby|tex|latex|graphql|subrip|ns-proxy-autoconfig)|json5|jsonl|x-jsonlines|xml-dtd|node|pgp-keys|x-pem-file|x-x509-ca-cert|mbox|trig|n-quads|n-triples|sparql-query|wsdl|x-subrip|x-web-app-manifest\+json)$/;

/** Extensions of text formats for which stores often have no media type, or a wrong one. */
const TEXT_EXTENSIONS =
  /^(txt|log|md|markdown|csv|tsv|json|jsonl|ndjson|geojson|xml|html?|css|scss|sass|less|[cm]?[jt]sx?|vue|svelte|py|rb|php|pl|lua|r|go|rs|java|kt|swift|c|cc|cpp|h|hpp|cs|sh|bash|zsh|fish|ps1|bat|sql|ya?ml|toml|ini|cfg|conf|env|properties|diff|patch|tex|bib|srt|vtt|graphql|proto|gradle|cmake|mk|nix|tf)$/;

/** Returns whether the lines of a text file are natural language, so each has its own direction. */
export function isProse(name: string): boolean {
  return /^(|txt|text|log|md|markdown|mdown|rst|adoc|srt|vtt|tex)$/.test(extensionOf(name));
}

/** The maximum length in characters of highlighted text. Longer text takes noticeably long. */
const MAX_HIGHLIGHTED_LENGTH = 200_000;

/** Returns the grammar for highlighting: by the file name, otherwise by the interpreter in the first line. */
export function grammarOf(name: string, text: string): string | undefined {
  if (text.length > MAX_HIGHLIGHTED_LENGTH) return undefined;
  const { stem } = splitName(name);
  const suffix = extensionOf(name);
  const program = /^#!.*?\b(bash|sh|zsh|python|node|perl|ruby|php)/.exec(text)?.[1];
  const known = GRAMMARS_BY_NAME.get(stem.toLowerCase()) ?? GRAMMARS_BY_EXTENSION.get(suffix) ?? suffix;
  return known === '' ? program && (GRAMMARS_BY_EXTENSION.get(program) ?? program) : known;
}

const GRAMMARS_BY_NAME = new Map([
  ['makefile', 'makefile'],
  ['.bashrc', 'bash'],
  ['.profile', 'bash'],
  ['.gitconfig', 'ini'],
  ['.editorconfig', 'ini'],
  ['.env', 'ini'],
]);

/** Extensions that the highlighter does not know. */
const GRAMMARS_BY_EXTENSION = new Map([
  ['cts', 'typescript'],
  ['mts', 'typescript'],
  ['node', 'javascript'],
  ['jsonl', 'json'],
  ['ndjson', 'json'],
  ['geojson', 'json'],
  ['webmanifest', 'json'],
  ['vue', 'xml'],
  ['svelte', 'xml'],
  ['conf', 'ini'],
  ['cfg', 'ini'],
  ['env', 'ini'],
  ['properties', 'ini'],
  ['fish', 'bash'],
  ['mk', 'makefile'],
  ['txt', ''],
  ['log', ''],
]);
