import { splitName } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';

/** The kind of preview of a file; `none` without a preview. */
export type PreviewKind = 'image' | 'video' | 'audio' | 'pdf' | 'markdown' | 'json' | 'table' | 'text' | 'none';

/** The maximum size in bytes of Markdown, JSON and tables. Larger files are shown as text, in parts. */
const WHOLE = 2e6;
/** The maximum size in bytes of a file of unknown type that is read to detect text. */
const LOOKED_INTO = 1e6;

export function previewKindOf({ name, size, contentType }: FileEntry): PreviewKind {
  if (size === 0) return 'none';
  const type = contentType.toLowerCase().split(';', 1)[0] ?? '';
  const suffix = splitName(name).extension.split('.').at(-1)?.toLowerCase() ?? '';
  const isVague = /^(|(application|binary)\/octet-stream)$/.test(type);

  const [medium] = MEDIA.find(([, types, suffixes]) => types.test(type) || (isVague && suffixes.test(suffix))) ?? [];
  // The service sends a PDF with another extension as an attachment, which frames don't show.
  if (medium === 'pdf' && suffix !== 'pdf') return 'none';
  if (medium !== undefined && !isSource(type, suffix)) return medium;
  if (isVague && !CODE.test(suffix) && size > LOOKED_INTO) return 'none';
  if (!isVague && !TEXTS.test(type) && !isSource(type, suffix) && !CODE.test(suffix)) return 'none';

  if (size > WHOLE) return 'text';
  if (type === 'text/markdown' || /^(md|markdown|mdown)$/.test(suffix)) return 'markdown';
  if (/[/+]json$/.test(type) || /^(json|geojson|webmanifest)$/.test(suffix)) return 'json';
  if (/^text\/(csv|tab-separated-values)$/.test(type) || /^(csv|tsv)$/.test(suffix)) return 'table';
  return 'text';
}

/** Returns whether the file is TypeScript, which many tables of media types list as MPEG video. */
function isSource(type: string, suffix: string): boolean {
  return type === 'video/mp2t' && /^[cm]?ts$/.test(suffix);
}

/** Kinds by media type, or by extension if the type is unspecific. A PDF needs the media type. */
const MEDIA: readonly (readonly [PreviewKind, RegExp, RegExp])[] = [
  [
    'image',
    /^image\/(p?jpeg|jpg|a?png|x-png|webp|gif|avif|svg\+xml|bmp|x-ms-bmp|x-icon|vnd\.microsoft\.icon|tiff|hei[cf]|jxl)$/,
    /^(jpe?g|png|webp|gif|avif|bmp|ico)$/,
  ],
  ['video', /^video\//, /^(mp4|m4v|webm|mov|mkv|ogv)$/],
  ['audio', /^(audio\/|application\/ogg$)/, /^(mp3|m4a|wav|flac|ogg|oga|opus|aac)$/],
  ['pdf', /^application\/pdf$/, /(?!)/],
];

const TEXTS =
  /^text\/|[/+](json|xml|yaml|toml)$|^application\/((x-|ld\+)?(json|ndjson|javascript|ecmascript|typescript|yaml|toml|sql|sh|csh|httpd-php|php|perl|python|ruby|tex|latex|graphql|subrip|ns-proxy-autoconfig)|json5|jsonl|x-jsonlines|xml-dtd|node|pgp-keys|x-pem-file|x-x509-ca-cert|mbox|trig|n-quads|n-triples|sparql-query|wsdl|x-subrip|x-web-app-manifest\+json)$/;

/** Extensions of text formats for which stores often have no media type, or a wrong one. */
const CODE =
  /^(txt|log|md|markdown|csv|tsv|json|jsonl|ndjson|geojson|xml|html?|css|scss|sass|less|[cm]?[jt]sx?|vue|svelte|py|rb|php|pl|lua|r|go|rs|java|kt|swift|c|cc|cpp|h|hpp|cs|sh|bash|zsh|fish|ps1|bat|sql|ya?ml|toml|ini|cfg|conf|env|properties|diff|patch|tex|bib|srt|vtt|graphql|proto|gradle|cmake|mk|nix|tf)$/;
