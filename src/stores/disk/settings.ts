import { type Reader, text } from '../../settings/readers.ts';
import type { SettingGroup } from '../../settings/setting.ts';
import type { SettingsOf } from '../backend.ts';

/**
 * Reads the permissions that new files and folders lack, in octal as umask(1) does. Without the permissions of the owner,
 * Holdall could not use its own folders.
 */
const umask: Reader<number> = (input) => {
  if (!/^0?[0-7]{3}$/.test(input)) return { problem: 'must be three octal digits, which can follow a 0' };
  const value = Number.parseInt(input, 8);
  return (value & 0o700) === 0
    ? { value }
    : { problem: 'must be a mask that leaves all permissions to the owner, which is Holdall' };
};

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
    help: 'Octal umask for new files and folders; first digit 0. Default: that of the process.',
  },
} as const satisfies SettingGroup;

export type DiskSettings = SettingsOf<typeof DISK_SETTINGS>;
