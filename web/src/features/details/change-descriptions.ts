import { nameOf, parentOf } from '../../platform/paths.ts';
import type { FeedChange } from '../../platform/service/changes.ts';
import { folderName } from '../../platform/text/names.ts';
import type { Text } from '../../platform/text/text.ts';
import type { IconName } from '../../ui/icon.tsx';

/** Returns a change as a sentence. */
export function describeChange({ type, path, from }: FeedChange, text: Text): string {
  const { activity, changes } = text;
  const name = folderName(path, text);
  const folder = folderName(parentOf(path), text);
  const before = nameOf(from ?? path);
  const isSameFolder = from !== undefined && parentOf(from) === parentOf(path);
  switch (type) {
    case 'file.created':
    case 'folder.created':
      return changes.created({ name });
    case 'file.replaced':
      return activity.replaced({ name });
    case 'file.written':
      return activity.saved({ name });
    case 'file.copied':
    case 'folder.copied':
      return isSameFolder ? activity.copiedAs({ before, name }) : changes.copied({ count: 1, name: before, folder });
    case 'file.moved':
    case 'folder.moved':
      return isSameFolder ? changes.renamed({ before, name }) : changes.moved({ count: 1, name: before, folder });
    case 'file.restored':
    case 'folder.restored':
      return changes.restored({ count: 1, name });
    case 'file.touched':
      return activity.touched({ name });
    case 'file.deleted':
    case 'folder.deleted':
      return changes.deleted({ count: 1, name });
    case 'folder.changed':
      return activity.changed({ name });
    case 'resync':
      return activity.incomplete;
  }
}

const ICONS = {
  'file.created': 'upload',
  'file.replaced': 'upload',
  'file.written': 'upload',
  'file.copied': 'copy',
  'file.moved': 'move',
  'file.restored': 'refresh',
  'file.touched': 'clock',
  'file.deleted': 'delete',
  'folder.created': 'new-folder',
  'folder.copied': 'copy',
  'folder.moved': 'move',
  'folder.restored': 'refresh',
  'folder.deleted': 'delete',
  'folder.changed': 'folder',
  resync: 'warning',
} as const satisfies Record<FeedChange['type'], IconName>;

/** Returns the icon of a kind of change. */
export function iconOf({ type, path, from }: FeedChange): IconName {
  const isRename = (type === 'file.moved' || type === 'folder.moved') && parentOf(from ?? '') === parentOf(path);
  return isRename ? 'rename' : ICONS[type];
}
