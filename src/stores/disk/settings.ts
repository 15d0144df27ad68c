import { type Reader, text } from '../../settings/readers.ts';
import type { SettingGroup } from '../../settings/setting.ts';
import type { SettingsOf } from '../backend.ts';

/** Reads the permissions that new files and folders lack, in octal as umask(1) does. */
const umask: Reader<number> = (input) =>
  /^0?[0-7]{3}$/.test(input)
    ? { value: Number.parseInt(input, 8) }
    : { problem: 'must be three octal digits, which can follow a 0' };

/** The settings of a local folder. */
export const DISK_SETTINGS = {
  DISK_ROOT: {
    read: text,
    defaultText: './data',
    example: '/srv/files',
    help: 'Folder to serve. Created if missing. `.holdall` inside it is reserved for Holdall.',
  },
  UMASK: {
    read: umask,
    defaultText: null,
    example: '027',
    help: 'Permissions that new files and folders lack, in octal. Default: the umask of the process.',
  },
} as const satisfies SettingGroup;

export type DiskSettings = SettingsOf<typeof DISK_SETTINGS>;
