import { randomUUID } from 'node:crypto';
import { lstat, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFull } from '../../model/error.ts';
import { foldingNames, type NameComparison, UNKNOWN_NAMES } from '../../model/name-comparison.ts';
import { makeDurableFolder } from '../../system.ts';
import { requireOwnFolder } from './own-folders.ts';
import { RESERVED_FOLDER } from './reserved-names.ts';

/**
 * File systems on a disk or in the memory of this machine, by their statfs(2) type on Linux (`linux/magic.h`). Calls to
 * any other file system (network or FUSE) might block forever.
 *
 * The value is true if a write through a memory map is known to update the times of the file: at the first write to a
 * page after the page's last writeback. tmpfs never writes pages back. The others are not relied on.
 */
const LOCAL: ReadonlyMap<number, boolean> = new Map([
  [0xef53, true], // ext2, ext3, ext4
  [0x58465342, true], // XFS
  [0x9123683e, true], // Btrfs
  [0x2fc12fc1, false], // ZFS
  [0xf2f52010, true], // F2FS
  [0xca451a4e, false], // bcachefs
  [0x01021994, false], // tmpfs
  [0x794c7630, true], // overlayfs, common in containers
]);

const isLinux = process.platform === 'linux';

/** Returns whether a file system of this `statfs` type is known to be local. */
export const isLocalFileSystem = (type: number): boolean => isLinux && LOCAL.has(type);

/** Returns whether a file system of this type is known to update a file's times for writes through a memory map. */
export const updatesTimesOfMappedWrites = (type: number): boolean => isLinux && LOCAL.get(type) === true;

/**
 * File systems that might resolve names that no listing contains, even if they are case-sensitive. NTFS and SMB have
 * short names (`PRIVAT~1`); a FUSE driver or a host folder might be either.
 */
const WITH_ALIASES: ReadonlySet<number> = new Set([
  0x65735546, // FUSE: ntfs-3g, virtiofs
  0x7366746e, // ntfs3
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x01021997, // 9p, used by WSL
  0x786f4256, // VirtualBox shared folders
  0xbacbacbc, // VMware shared folders
]);

/** Returns whether a file system of this type might resolve names that its listings don't contain. */
export const mayHaveAliases = (type: number): boolean => isLinux && WITH_ALIASES.has(type);

/** The folder for temporary files of all processes, as segments below the root. */
const TEMPORARY = [RESERVED_FOLDER, 'temporary'] as const;

/**
 * Detects how the file system of `root` compares names, by looking up a temporary file under other spellings. Inode
 * numbers prove nothing here: exfat-fuse returns a different inode number for each spelling. An empty file also fits on most
 * full disks. Throws if Holdall's own folder can't be created.
 */
export async function probeNames(root: string): Promise<NameComparison> {
  await requireOwnFolder(root, join(root, ...TEMPORARY));
  const name = `names-${randomUUID()}`;
  const inFolder = (...spelling: readonly string[]) => join(root, ...spelling);
  const probe = inFolder(...TEMPORARY, `${name}\u00e9`);
  try {
    await makeDurableFolder(dirname(probe), 0o700);
    await writeFile(probe, '');
    const [ignoresCase, ignoresForm] = await Promise.all([
      exists(inFolder(...TEMPORARY.map((segment) => segment.toUpperCase()), `${name}\u00e9`)),
      exists(inFolder(...TEMPORARY, `${name}e\u0301`)),
    ]);
    return foldingNames({ ignoresCase, ignoresForm });
  } catch (error) {
    if (isDiskFull(error)) return UNKNOWN_NAMES;
    throw error;
  } finally {
    await rm(probe, { force: true });
  }
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
