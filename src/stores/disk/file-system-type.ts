/**
 * File systems whose files are on a disk of this machine, or in its memory, by the numbers that statfs(2) gives them on
 * Linux (`linux/magic.h`). Of all others (over a network, or served by a program) nobody knows whether they will answer.
 *
 * Beside each, whether it gives a file other times when a program stores into it through a map: those that are true do, at
 * the first store since the system has written the page back. In memory nothing is ever written back; of the others
 * nothing is relied on.
 */
const LOCAL: ReadonlyMap<number, boolean> = new Map([
  [0xef53, true], // ext2, ext3, ext4
  [0x58465342, true], // XFS
  [0x9123683e, true], // Btrfs
  [0x2fc12fc1, false], // ZFS
  [0xf2f52010, true], // F2FS
  [0xca451a4e, false], // bcachefs
  [0x01021994, false], // tmpfs
  [0x794c7630, true], // overlayfs, as containers have it
]);

const isLinux = process.platform === 'linux';

/** Whether a file system of this type, as `statfs` tells it, is known to be on this machine. */
export const isLocalFileSystem = (type: number): boolean => isLinux && LOCAL.has(type);

/** Whether a file system of this type is known to tell by a file's times of every store into it. */
export const tellsStores = (type: number): boolean => isLinux && LOCAL.get(type) === true;

/**
 * File systems that may resolve names which no listing shows, also where they distinguish case: NTFS and SMB have short
 * names (`PRIVAT~1`), and a FUSE driver or a folder of a host may be either.
 */
const WITH_ALIASES: ReadonlySet<number> = new Set([
  0x65735546, // FUSE: ntfs-3g, virtiofs
  0x7366746e, // ntfs3
  0xff534d42, // CIFS
  0xfe534d42, // SMB2
  0x01021997, // 9p, as WSL has it
  0x786f4256, // VirtualBox shared folders
  0xbacbacbc, // VMware shared folders
]);

/** Returns whether a file system of this type may resolve names that its listings lack. */
export const mayHaveAliases = (type: number): boolean => isLinux && WITH_ALIASES.has(type);
