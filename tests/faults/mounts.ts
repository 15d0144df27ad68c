import { execFile } from 'node:child_process';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { atEnd, type Owner } from '../../testing/holdall.ts';

const run = promisify(execFile);

/**
 * Mounts a file system in memory at `folder`, with these options of mount(8), until its owner ends. Returns the reason
 * if the machine does not permit that.
 */
export async function mountTmpfs(t: Owner, folder: string, options: string): Promise<string | undefined> {
  if (process.platform !== 'linux') return `tmpfs is of Linux, and this is ${process.platform}`;
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  } catch (error) {
    return `a tmpfs can't be mounted here: ${lastLineOf(error)}`;
  }
  atEnd(t, () => run('umount', ['--lazy', folder]));
  return undefined;
}

/** Makes a mounted file system read-only, or writable again. */
export async function remount(folder: string, mode: 'ro' | 'rw'): Promise<void> {
  await run('mount', ['-o', `remount,${mode}`, folder]);
}

/**
 * File systems of Windows, served through FUSE. NTFS has hard links, short names and one inode number for all spellings of
 * a name; exFAT has none of them. `exact-ntfs` distinguishes case.
 */
const OF_WINDOWS = {
  ntfs: { size: 8, make: ['mkntfs', '-F', '-Q', '-q'], mount: ['lowntfs-3g', '-o', 'ignore_case'] },
  'exact-ntfs': { size: 8, make: ['mkntfs', '-F', '-Q', '-q'], mount: ['ntfs-3g'] },
  exfat: { size: 8, make: ['mkfs.exfat'], mount: ['mount.exfat-fuse'] },
} as const;

export type FileSystemOfWindows = keyof typeof OF_WINDOWS;

/**
 * Mounts a new file system of Windows at `folder` until its owner ends. `image` is the path of the file that it is in.
 * Returns the reason if the machine does not permit that.
 */
export async function mountFileSystemOfWindows(
  t: Owner,
  kind: FileSystemOfWindows,
  { image, folder }: { image: string; folder: string },
): Promise<string | undefined> {
  const { size, make, mount } = OF_WINDOWS[kind];
  const mountDevice = (device: string) => run(mount[0], [...mount.slice(1), device, folder]);
  return mountImage(t, { image, folder, size, make, mountDevice });
}

/**
 * Mounts a new ext4 file system of 16 MiB at `folder` until its owner ends, without space that is reserved for root. Names
 * in its folders need space, which those of a tmpfs don't. Returns the reason if the machine does not permit that.
 */
export function mountExt4(t: Owner, { image, folder }: { image: string; folder: string }): Promise<string | undefined> {
  const make: readonly [string, ...string[]] = ['mkfs.ext4', '-q', '-F', '-m', '0', '-E', 'root_owner', '-b', '1024'];
  const mountDevice = (device: string) => run('mount', ['-t', 'ext4', device, folder]);
  return mountImage(t, { image, folder, size: 16, make, mountDevice });
}

/** A file system in a file: `size` is in MiB, and `make` is the command that formats it. */
interface FileSystemImage {
  readonly image: string;
  readonly folder: string;
  readonly size: number;
  readonly make: readonly [string, ...string[]];
  readonly mountDevice: (device: string) => Promise<unknown>;
}

async function mountImage(
  t: Owner,
  { image, folder, size, make, mountDevice }: FileSystemImage,
): Promise<string | undefined> {
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(image, '');
    await truncate(image, size * 2 ** 20);
    await run(make[0], [...make.slice(1), image]);
    const { stdout } = await run('losetup', ['--find', '--show', image]);
    const device = stdout.trim();
    atEnd(t, () => run('losetup', ['--detach', device]));
    await mountDevice(device);
  } catch (error) {
    return `${make[0]} and its mount are refused here: ${lastLineOf(error)}`;
  }
  atEnd(t, () => run('umount', [folder]));
  return undefined;
}

/**
 * Mounts a folder at another place too, until its owner ends. Returns the reason if the machine does not permit that.
 */
export async function mountBind(t: Owner, source: string, folder: string): Promise<string | undefined> {
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['--bind', source, folder]);
  } catch (error) {
    return `a bind mount is refused here: ${lastLineOf(error)}`;
  }
  atEnd(t, () => run('umount', ['--lazy', folder]));
  return undefined;
}

/** The last line has the reason. Earlier lines describe the attempts. */
const lastLineOf = (error: unknown) => String(error).trim().split('\n').at(-1);
