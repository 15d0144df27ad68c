import { constants } from 'node:fs';
import { copyFile, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { exists, systemErrorCode } from '../model/error.ts';
import { childFile } from '../model/path.ts';
import { isLocalFileSystem } from '../stores/disk/file-system-type.ts';
import { type Check, failed, ok, warning } from './check.ts';
import { nearestFolder, writeProbe } from './probe.ts';
import { PLAIN_NAME, type StoreSubject } from './store.ts';

/** Checks before the folder is opened as a store. */
export const ROOT_CHECKS: readonly Check<Config>[] = [
  {
    name: 'disk-root',
    concerns: isOnDisk,
    async run({ DISK_ROOT }) {
      const found = await stat(DISK_ROOT).catch(() => undefined);
      const place = resolve(DISK_ROOT);
      if (found === undefined) {
        return failed(
          `There is no folder ${place} (DISK_ROOT). The service would make it, and serve an empty one.`,
          `Look at DISK_ROOT, and whether the disk is mounted; if it is right: mkdir -p ${place}`,
        );
      }
      if (process.getuid?.() === 0 && found.uid !== 0) {
        return failed(
          `${place} belongs to the user ${found.uid}, and this is root: what it makes there, the service can't use.`,
          `Run it as the user that the service runs as: sudo -u '#${found.uid}' npx holdall doctor`,
        );
      }
      return ok(`${place} is there.`);
    },
    explain: () => 'Look at DISK_ROOT.',
  },
  {
    name: 'disk-kind',
    needs: 'disk-root',
    concerns: isOnDisk,
    async run({ DISK_ROOT }) {
      const { type } = await statfs(DISK_ROOT);
      if (type === TMPFS) {
        return warning(
          'DISK_ROOT is on a tmpfs: its files are in memory, and gone with the next start of the machine.',
          'Set DISK_ROOT to a folder on a disk.',
        );
      }
      if (process.platform !== 'linux' || isLocalFileSystem(type)) return ok('DISK_ROOT is on a disk of this machine.');
      return warning(
        `DISK_ROOT is on a file system over a network or of a program (type 0x${type.toString(16)}): calls of it may take long, or never end.`,
        'Mount it so that calls end: for NFS with soft,timeo=100; or serve its files by a bucket in its place.',
      );
    },
    explain: () => 'Look at DISK_ROOT, and at how it is mounted.',
  },
  {
    name: 'disk-space',
    async run({ STORAGE_TYPE, DISK_ROOT, CACHE_DIR }) {
      const wanted = [tmpdir(), ...(STORAGE_TYPE === 'disk' ? [DISK_ROOT] : []), ...(CACHE_DIR ? [CACHE_DIR] : [])];
      const places = await Promise.all(wanted.map(nearestFolder));
      const told: string[] = [];
      for (const place of new Set(places)) {
        const { bavail, bsize, ffree, files } = await statfs(place);
        const free = bavail * bsize;
        if (free < LEAST_FREE || (files > 0 && ffree < LEAST_INODES)) {
          return warning(
            `${Math.floor(free / 2 ** 20)} MiB and ${ffree} inodes are free where ${place} is.`,
            `Make room there, or move it: DISK_ROOT, CACHE_DIR, and TMPDIR for uploads on their way.`,
          );
        }
        told.push(`${place}: ${Math.floor(free / 2 ** 20)} MiB`);
      }
      return ok(`There is room: ${told.join(', ')}.`);
    },
    explain: () => 'Look at DISK_ROOT, CACHE_DIR and TMPDIR.',
  },
];

/** Checks of a disk that need the probe. */
export const DISK_CHECKS: readonly Check<StoreSubject>[] = [
  {
    name: 'disk-names',
    needs: 'store-write',
    writes: true,
    concerns: ({ config }) => isOnDisk(config),
    async run(subject, signal) {
      const { store, probe } = subject;
      await writeProbe(subject, COMPOSED, Buffer.alloc(0), { signal });
      const sees = (name: string) => exists(store.stat(childFile(probe, name), { signal }));
      const [folds, normalises] = [await sees(COMPOSED.toUpperCase()), await sees(COMPOSED.normalize('NFD'))];
      if (!folds && !normalises) return ok('The file system tells apart names that differ in a letter’s case or form.');
      const same = [...(folds ? ['"a" and "A"'] : []), ...(normalises ? ['two forms of "é"'] : [])].join(', and ');
      return warning(
        `The file system takes ${same} for the same name: uploading the one replaces the other.`,
        'Set DISK_ROOT to a file system that tells them apart, such as ext4 or XFS without casefold, if that matters to you.',
      );
    },
    explain: () => 'Look at the file system of DISK_ROOT.',
  },
  {
    name: 'disk-copies',
    needs: 'store-write',
    writes: true,
    concerns: ({ config }) => isOnDisk(config),
    async run({ opened, probe }) {
      const folder = join(opened.name, probe);
      try {
        await copyFile(join(folder, PLAIN_NAME), join(folder, 'reflink'), constants.COPYFILE_FICLONE_FORCE);
        return ok('Copies share their bytes with the original (reflinks), and take no time.');
      } catch (error) {
        const known = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EINVAL', 'ENOTTY'].includes(
          systemErrorCode(error) ?? '',
        );
        if (!known) throw error;
        return ok('The file system has no reflinks: copies take the room, and the time, of their bytes.');
      }
    },
    explain: () => 'Look at the file system of DISK_ROOT.',
  },
];

function isOnDisk({ STORAGE_TYPE }: Config): boolean {
  return STORAGE_TYPE === 'disk';
}

/** Type of a tmpfs file system in statfs(2) on Linux. */
const TMPFS = 0x01021994;

const LEAST_FREE = 2 ** 30;
const LEAST_INODES = 10_000;

/** A name in NFC, which has a different NFD form. */
const COMPOSED = 'case-é';
