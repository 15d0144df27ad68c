import { type Family, familyOf } from '../../platform/file-kinds.ts';
import type { Entry } from '../../platform/service/service.ts';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icons.ts';
import './entries.css';

/** The icon of an entry's family, in the colour of the family. */
export function EntryIcon({ entry }: { entry: Entry }) {
  const family = familyOf(entry);
  return <Icon name={ICONS[family]} class={`entry-icon ${family}`} />;
}

const ICONS: Readonly<Record<Family, IconName>> = {
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
