import { text } from '../../settings/readers.ts';
import type { SettingGroup } from '../../settings/setting.ts';
import type { SettingsOf } from '../backend.ts';

/** The settings of a local folder. */
export const DISK_SETTINGS = {
  DISK_ROOT: {
    read: text,
    defaultText: './data',
    example: '/srv/files',
    help: 'Folder to serve. Created if missing. `.holdall` inside it is reserved for Holdall.',
  },
} as const satisfies SettingGroup;

export type DiskSettings = SettingsOf<typeof DISK_SETTINGS>;
