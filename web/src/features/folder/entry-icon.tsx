import type { Entry } from '../../platform/service/service.ts';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icons.ts';
import './entry-icon.css';

/** The icon of what an entry is, in a muted tint of its kind. */
export function EntryIcon({ entry }: { entry: Entry }) {
  const kind = kindOf(entry);
  return <Icon name={ICONS[kind]} class={`entry-icon ${kind}`} />;
}

/** What a person would call an entry, as far as the page tells kinds apart. */
export type EntryKind =
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

const ICONS: Readonly<Record<EntryKind, IconName>> = {
  folder: 'folder',
  image: 'image',
  video: 'video',
  audio: 'audio',
  text: 'text',
  code: 'code',
  table: 'table',
  document: 'document',
  archive: 'archive',
  other: 'file',
};

export function kindOf(entry: Entry): EntryKind {
  if (entry.type === 'folder') return 'folder';
  const [type = ''] = entry.contentType.split(';');
  return KINDS.find(([, pattern]) => pattern.test(type))?.[0] ?? 'other';
}

/** By the media type; the first that matches. */
const KINDS: readonly (readonly [EntryKind, RegExp])[] = [
  ['image', /^image\//],
  ['video', /^video\/(?!mp2t)/],
  ['audio', /^audio\//],
  ['table', /csv|tab-separated|spreadsheet|ms-excel/],
  ['document', /pdf|msword|wordprocessing|presentation|powerpoint|opendocument|rtf|epub/],
  ['archive', /zip|x-tar|gzip|x-bzip|x-xz|7z|rar|compressed|zstd|java-archive/],
  ['code', /json|javascript|typescript|xml|html|css|x-sh|x-python|x-httpd|yaml|toml|sql|^text\/x-|mp2t/],
  ['text', /^text\//],
];
