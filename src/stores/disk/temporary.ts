import { randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { isDiskFull, systemErrorCode } from '../../model/error.ts';
import { DEFAULT_ACL, removeAttribute } from './extended-attributes.ts';
import { MoveRecords } from './move-records.ts';
import { type DiskLog, RecoveryFolder } from './recovery.ts';
import { isStagingName, UPLOADS_FOLDER } from './reserved-names.ts';
import type { Root } from './root.ts';
import { removeTree } from './trees.ts';
import { versionsIn } from './version-names.ts';

/** The temporary files and folders of this process, on the file system of the root. */
export interface Temporary {
  /** Preserves items that can't be restored to their path. */
  readonly recovery: RecoveryFolder;
  /** The moves of all processes that are in progress. */
  readonly moves: MoveRecords;
  /** Returns a new path that does not exist yet. */
  name(): Promise<string>;
  /**
   * Returns a new path for a file that is moved away from its path before its version is checked. If the process ends
   * before it has returned the file to its path, the next sweep moves the file to the recovery folder.
   */
  nameOfMoved(): Promise<string>;
  /**
   * Resolves when new files in Holdall's own folders inherit no ACL. Await it before creating one for content: that file gets
   * the default ACL of the folder in which it will be, and not that of the root.
   */
  withoutDefaultAcl(): Promise<void>;
  /**
   * Notes a path with a staging name that is about to be created in a served folder. If the process ends before the note is
   * disposed of, the next sweep removes the file or folder.
   */
  noteHidden(absolute: string): Promise<AsyncDisposable>;
  /** Creates a file. Returns its path and a file descriptor open for writing. */
  create(): Promise<{ readonly path: string; readonly fd: number }>;
  /** Returns the time by the clock of the file system, which can be on another machine, rounded up to milliseconds. */
  now(): Promise<Date>;
  /** Removes the temporary folder of this process. */
  close(): Promise<void>;
}

/** Interval in milliseconds at which a process updates the time of its folder and removes abandoned folders. */
const HEARTBEAT_INTERVAL_MS = 60_000;

/** The start of the names of files that can be the only name of their content. */
const MOVED_PREFIX = 'moved-';

/** The start of the names of notes: files with the path of something in a served folder. */
const HIDDEN_PREFIX = 'hidden-';

/** Delay in milliseconds of an extra sweep after the start: killed processes might take a moment to disappear. */
const EXTRA_SWEEP_DELAY_MS = 3_000;

/** Milliseconds without a heartbeat after which a folder is abandoned, if its process can't be checked by its pid. */
const ABANDONED_AFTER_MS = 60 * 60 * 1000;

/**
 * Creates a temporary folder for this process in `ownFolder`, which is inside the root. Removes orphaned temporary
 * folders of ended processes at the start and every minute, so that no temporary file outlives a crash and restart.
 * Folders of running processes remain. Logs items that earlier processes left in the recovery folder.
 */
export async function openTemporary(
  ownFolder: string,
  root: Pick<Root, 'system' | 'requireSame' | 'requireOwnFolder' | 'makeOwnFolder'>,
  log: DiskLog,
): Promise<Temporary> {
  const parent = join(ownFolder, 'temporary');
  const recovered = join(ownFolder, 'recovered');
  const scope = await processScope();
  const folder = join(parent, ownedName(scope));
  const make = () => root.makeOwnFolder(folder);
  // A full disk must not stop the start, after which deletes free space.
  await root.makeOwnFolder(parent).catch(ignoreFullDisk);
  const moves = new MoveRecords(join(ownFolder, 'moves'));
  const sweepAbandoned = async () => {
    await root.requireOwnFolder(parent);
    await sweep(parent, { root, scope, recovered, log });
    await moves.removeOrphans();
  };
  await sweepAbandoned();
  await make().catch(ignoreFullDisk);
  const recovery = new RecoveryFolder(recovered, {
    root,
    versions: versionsIn(ownFolder),
    log,
    newName: () => ownedName(scope),
  });
  await recovery.reportOrphans((name) => isAbandoned(recovery.path, name, scope));

  const heartbeat = async () => {
    // A folder that could not be created on a full disk must not prevent the sweep, which frees space.
    await utimes(folder, new Date(), new Date()).catch(ignoreMissing);
    await sweepAbandoned();
  };
  // Errors are ignored: the next heartbeat is a minute later, and no request depends on it.
  const tryHeartbeat = () => void heartbeat().catch(() => {});
  const timers = [setTimeout(tryHeartbeat, EXTRA_SWEEP_DELAY_MS), setInterval(tryHeartbeat, HEARTBEAT_INTERVAL_MS)];
  for (const timer of timers) timer.unref();

  // Not at the start, which takes 25 ms less without loading the library.
  let withoutAcls: Promise<void> | undefined;
  const removeDefaultAcls = async () => {
    for (const each of [ownFolder, parent, folder, join(ownFolder, UPLOADS_FOLDER)]) {
      await removeAttribute(each, DEFAULT_ACL);
    }
  };
  const withoutDefaultAcl = () => (withoutAcls ??= removeDefaultAcls());

  const removeOwn = async () => {
    await root.requireOwnFolder(folder);
    await removeItem(folder);
  };

  return {
    recovery,
    moves,
    withoutDefaultAcl,
    async name() {
      await withoutDefaultAcl();
      try {
        // The folder might be missing: removed by a process whose clock is ahead, or by hand.
        await make();
        return join(folder, randomUUID());
      } catch (error) {
        ignoreFullDisk(error);
        // What is renamed there before its removal needs no space. The next sweep knows its owner, too.
        return join(parent, ownedName(scope));
      }
    },
    async nameOfMoved() {
      try {
        await make();
        return join(folder, MOVED_PREFIX + randomUUID());
      } catch (error) {
        // Renames and moves must work on a full disk.
        ignoreFullDisk(error);
        return join(parent, ownedName(scope, MOVED_PREFIX));
      }
    },
    async noteHidden(absolute) {
      const note = join(folder, HIDDEN_PREFIX + randomUUID());
      try {
        await make();
        await writeFile(note, absolute, { mode: 0o600 });
      } catch (error) {
        // A delete must work on a full disk. Without the note, only a killed process leaves something.
        ignoreFullDisk(error);
      }
      return { [Symbol.asyncDispose]: () => rm(note, { force: true }) };
    },
    async create() {
      await withoutDefaultAcl();
      await root.requireOwnFolder(folder);
      const path = join(folder, randomUUID());
      try {
        return { path, fd: await root.system.sync.create(path) };
      } catch (error) {
        if (systemErrorCode(error) !== 'ENOENT') throw error;
        await make();
        return { path, fd: await root.system.sync.create(path) };
      }
    },
    async now() {
      const time = new Date();
      try {
        // This sets the ctime to the present, and needs no space.
        await utimes(parent, time, time);
        return new Date(Math.ceil((await stat(parent)).ctimeMs));
      } catch {
        // The operation that needs the time reports what is wrong with the disk.
        return time;
      }
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      // What is not removed is removed by a later sweep, except if another program replaced the folder.
      await removeOwn().catch((error: unknown) =>
        log.warn('The temporary files of this process could not be removed.', { folder, err: error }),
      );
    },
  };
}

/** Returns an identifier of the scope in which a pid is meaningful: the machine, its boot, and the pid namespace. */
async function processScope(): Promise<string> {
  const [bootId, pidNamespace] = await Promise.all([
    readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => ''),
    readlink('/proc/self/ns/pid').catch(() => ''),
  ]);
  return `${hostname()}-${bootId.trim().slice(0, 8)}-${pidNamespace.replace(/\D/g, '')}`;
}

/** Returns a new name that identifies this process as its owner. `prefix`: the start of the part after the owner. */
const ownedName = (scope: string, prefix = ''): string => `${scope}~${process.pid}~${prefix}${randomUUID()}`;

interface SweepOptions {
  readonly root: Pick<Root, 'makeOwnFolder'>;
  readonly scope: string;
  /** Absolute path of the recovery folder. */
  readonly recovered: string;
  readonly log: DiskLog;
}

async function sweep(parent: string, { root, scope, recovered, log }: SweepOptions): Promise<void> {
  for (const name of await readdir(parent).catch(ignoreMissing)) {
    if (!(await isAbandoned(parent, name, scope))) continue;
    const folder = join(parent, name);
    try {
      for (const moved of await movedIn(parent, name)) {
        await preserveMoved(moved, join(recovered, name), { root, log });
      }
      await removeHidden(folder, log);
      await removeItem(folder);
    } catch (error) {
      log.error('A folder of temporary files could not be removed.', { folder, err: error });
    }
  }
}

/** Returns the files that an ended process had moved away from their paths. `name`: the name of its folder, or of such a file. */
async function movedIn(parent: string, name: string): Promise<readonly string[]> {
  const path = join(parent, name);
  if (name.split('~').at(-1)?.startsWith(MOVED_PREFIX)) return [path];
  const names = await readdir(path).catch(ignoreMissing);
  return names.filter((each) => each.startsWith(MOVED_PREFIX)).map((each) => join(path, each));
}

/** Moves a file that was moved away from its path to the folder `recovered`, unless its content has another name. */
async function preserveMoved(
  moved: string,
  recovered: string,
  { root, log }: Pick<SweepOptions, 'root' | 'log'>,
): Promise<void> {
  const stats = await lstat(moved).catch(() => undefined);
  if (!stats?.isFile() || stats.nlink > 1) return;
  await root.makeOwnFolder(recovered);
  const kept = join(recovered, basename(moved));
  try {
    await rename(moved, kept);
  } catch (error) {
    // Another process did it first.
    ignoreMissing(error);
    return;
  }
  log.error('A file of a process that ended during a move is kept in the recovery folder.', { recovered: kept });
}

/** Removes what an ended process has left in served folders, according to its notes in `folder`. */
async function removeHidden(folder: string, log: DiskLog): Promise<void> {
  for (const name of await readdir(folder).catch(ignoreMissing)) {
    if (!name.startsWith(HIDDEN_PREFIX)) continue;
    const hidden = await readFile(join(folder, name), 'utf8').catch(() => '');
    if (!isStagingName(basename(hidden))) continue;
    await removeItem(hidden).catch((error: unknown) =>
      log.error('A temporary file or folder could not be removed.', { path: hidden, err: error }),
    );
  }
}

/** Removes a folder and everything in it, or a file. */
export async function removeItem(path: string): Promise<void> {
  await removeTree(path).catch(async (error: unknown) => {
    ignoreMissing(error);
    await rm(path, { force: true });
  });
}

function ignoreFullDisk(error: unknown): void {
  if (!isDiskFull(error)) throw error;
}

function ignoreMissing(error: unknown): string[] {
  const code = systemErrorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return [];
  throw error;
}

/** Returns whether the process that owns a name in `parent` has ended. */
async function isAbandoned(parent: string, name: string, scope: string): Promise<boolean> {
  const [owner, pid] = name.split('~');
  if (owner === scope && pid !== undefined) return Number(pid) !== process.pid && !isAlive(Number(pid));
  const found = await stat(join(parent, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > ABANDONED_AFTER_MS;
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) !== 'ESRCH';
  }
}
