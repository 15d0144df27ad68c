/**
 * File systems whose files are on a disk of this machine, or in its memory, by the numbers that statfs(2) gives them on
 * Linux (`linux/magic.h`). Of all others (over a network, or served by a program) nobody knows whether they will answer.
 */
const LOCAL = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x794c7630, // overlayfs, as containers have it
]);

/** Whether a file system of this type, as `statfs` tells it, is known to be on this machine. */
export const isLocalFileSystem = (type: number): boolean => process.platform === 'linux' && LOCAL.has(type);
