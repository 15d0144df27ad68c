import { constants } from 'node:fs';
import { copyFile, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { findAdvice } from '../../checks/advice.ts';
import { type Check, failed, ok, warning } from '../../checks/check.ts';
import { PLAIN_NAME, writeProbe } from '../../checks/probe.ts';
import { exists, isStoreError, systemErrorCode } from '../../model/error.ts';
import { childFile } from '../../model/path.ts';
import type { BackendChecks, StoreCheck } from '../backend.ts';
import { isLocalFileSystem } from './file-system.ts';
import type { DiskSettings } from './settings.ts';

/** The checks of a folder of this machine. */
export const CHECKS: BackendChecks<DiskSettings> = {
  requiredToOpen: 'disk-root',
  beforeOpen: (runner, settings) => runner.run(ROOT_CHECKS, settings),
  afterOpen: (runner, subject) => runner.run(STORE_CHECKS, subject),

  advise(error, { DISK_ROOT }) {
    const known = findAdvice(error, { 'store-full': 'Make room where DISK_ROOT is.' });
    if (known !== undefined) return known;
    if (isStoreError(error, 'denied')) {
      return `Let the user ${process.getuid?.() ?? ''} that runs this read and write ${DISK_ROOT} and all below it: chown -R ${process.getuid?.() ?? 'USER'} ${DISK_ROOT}; and see that it is not mounted read-only: mount -o remount,rw`;
    }
    return 'Look at docs/settings.md, DISK_ROOT, and at the disk itself: dmesg';
  },
};

/** Checks before the folder is opened as a store. */
const ROOT_CHECKS: readonly Check<DiskSettings>[] = [
  {
    name: 'disk-root',
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
];

/** Checks of a disk that need the probe. */
const STORE_CHECKS: readonly StoreCheck<DiskSettings>[] = [
  {
    name: 'disk-names',
    needs: 'store-write',
    writes: true,
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

/** Type of a tmpfs file system in statfs(2) on Linux. */
const TMPFS = 0x01021994;

/** A name in NFC, which has a different NFD form. */
const COMPOSED = 'case-é';
