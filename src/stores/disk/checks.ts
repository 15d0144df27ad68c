import { constants } from 'node:fs';
import { copyFile, stat, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Check, failed, findAdvice, ok, warning } from '../../checks/check.ts';
import { PLAIN_NAME, writeProbe } from '../../checks/probe.ts';
import { exists, isStoreError, systemErrorCode } from '../../model/error.ts';
import { childFile } from '../../model/path.ts';
import type { BackendChecks, StoreCheck } from '../backend.ts';
import { aclWithUser } from './acl.ts';
import { ACCESS_ACL, hasAttributes, writeAttribute } from './extended-attributes.ts';
import { isLocalFileSystem } from './file-system.ts';
import { RESERVED_FOLDER } from './reserved-names.ts';
import type { DiskSettings } from './settings.ts';
import { findWithoutRecord } from './trash-records.ts';

/** The checks of a folder of this machine. */
export const CHECKS: BackendChecks<DiskSettings> = {
  requiredToOpen: 'disk-root',
  beforeOpen: (runner, settings) => runner.run(ROOT_CHECKS, settings),
  afterOpen: (runner, subject) => runner.run(STORE_CHECKS, subject),

  advise(error, { DISK_ROOT }) {
    const known = findAdvice(error, { 'store-full': 'Free space on the disk of DISK_ROOT.' });
    if (known !== undefined) return known;
    if (isStoreError(error, 'denied')) {
      return `Give user ${process.getuid?.() ?? ''} read and write access to everything in ${DISK_ROOT}: chown -R ${process.getuid?.() ?? 'USER'} ${DISK_ROOT}. Check that it is not mounted read-only: mount -o remount,rw`;
    }
    return 'See DISK_ROOT in docs/reference/settings.md, and check the disk: dmesg';
  },
};

/** Checks before the folder is opened as a store. */
const ROOT_CHECKS: readonly Check<DiskSettings>[] = [
  {
    name: 'disk-root',
    async run({ DISK_ROOT }) {
      const found = await stat(DISK_ROOT).catch(() => undefined);
      const path = resolve(DISK_ROOT);
      if (found === undefined) {
        return failed(
          `The folder ${path} (DISK_ROOT) does not exist. The service would create an empty one.`,
          `Check DISK_ROOT, and that the disk is mounted. If both are correct: mkdir -p ${path}`,
        );
      }
      if (process.getuid?.() === 0 && found.uid !== 0) {
        return failed(
          `${path} belongs to user ${found.uid}, but the doctor runs as root: the service could not use the files that it creates.`,
          `Run the doctor as the user of the service: sudo -u '#${found.uid}' npx holdall doctor`,
        );
      }
      return ok(`${path} exists.`);
    },
    explain: () => 'Check DISK_ROOT.',
  },
  {
    name: 'disk-kind',
    needs: 'disk-root',
    async run({ DISK_ROOT }) {
      const { type } = await statfs(DISK_ROOT);
      if (type === TMPFS) {
        return warning(
          'DISK_ROOT is on a tmpfs: its files are in memory and are lost when the machine restarts.',
          'Set DISK_ROOT to a folder on a disk.',
        );
      }
      if (process.platform !== 'linux' || isLocalFileSystem(type)) return ok('DISK_ROOT is on a local file system.');
      return warning(
        `DISK_ROOT is on a network or FUSE file system (type 0x${type.toString(16)}): system calls can take long or block forever.`,
        'Mount it with timeouts (NFS: soft,timeo=100), or use a bucket instead.',
      );
    },
    explain: () => 'Check DISK_ROOT and how it is mounted.',
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
      if (!folds && !normalises) return ok('The file system distinguishes upper and lower case, and Unicode forms.');
      const same = [...(folds ? ['"a" and "A"'] : []), ...(normalises ? ['two forms of "é"'] : [])].join(', and ');
      return warning(
        `The file system treats ${same} as the same name: uploading one replaces the other.`,
        'If that matters, use a file system that distinguishes them, such as ext4 or XFS without casefold.',
      );
    },
    explain: () => 'Check the file system of DISK_ROOT.',
  },
  {
    name: 'disk-copies',
    needs: 'store-write',
    writes: true,
    async run({ opened, probe }) {
      const folder = join(opened.name, probe);
      try {
        await copyFile(join(folder, PLAIN_NAME), join(folder, 'reflink'), constants.COPYFILE_FICLONE_FORCE);
        return ok('Copies share their data with the original (reflinks).');
      } catch (error) {
        const known = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EINVAL', 'ENOTTY'].includes(
          systemErrorCode(error) ?? '',
        );
        if (!known) throw error;
        return ok('The file system has no reflinks: copies use additional space.');
      }
    },
    explain: () => 'Check the file system of DISK_ROOT.',
  },
  {
    name: 'disk-attributes',
    needs: 'store-write',
    writes: true,
    async run({ opened, probe }) {
      if (process.platform !== 'linux') return ok(`${NOT_KEPT} Holdall keeps them only on Linux.`);
      if (!(await hasAttributes())) {
        return warning(
          `${NOT_KEPT} The package "@koromix/koffi-linux-${process.arch}" can't be loaded.`,
          'Install Holdall with its optional packages: npm ci --include=optional',
        );
      }
      const path = join(opened.name, probe, PLAIN_NAME);
      const kept = {
        'extended attributes': await writeAttribute(path, 'user.holdall', Buffer.from('doctor')),
        ACLs: await writeAttribute(path, ACCESS_ACL, aclWithUser(process.getuid?.() ?? 0)),
      };
      const refused = Object.entries(kept).flatMap(([kind, isKept]) => (isKept ? [] : [kind]));
      if (refused.length === 0) return ok('Replaced files keep their ACLs and extended attributes.');
      return ok(`The file system has no ${refused.join(' and no ')}.`);
    },
    explain: () => 'Check the file system of DISK_ROOT.',
  },
  {
    name: 'disk-trash',
    async run({ opened }) {
      const unlisted = await findWithoutRecord(join(opened.name, RESERVED_FOLDER, 'trash'));
      const [first] = unlisted;
      if (first === undefined) return ok('The trash lists all its items.');
      return warning(
        `${unlisted.length === 1 ? '1 item in the trash has' : `${unlisted.length} items in the trash have`} no record, without which the trash neither lists nor removes an item: ${first}`,
        'Move it to a path, or delete it.',
      );
    },
    explain: () => 'Check the folder .holdall/trash in DISK_ROOT.',
  },
];

const NOT_KEPT = 'Replaced files lose their ACLs and extended attributes.';

/** Type of a tmpfs file system in statfs(2) on Linux. */
const TMPFS = 0x01021994;

/** A name in NFC, which has a different NFD form. */
const COMPOSED = 'case-é';
