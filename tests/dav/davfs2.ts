import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { atEnd, isRunning, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertDeclared } from '../runner/declared.ts';
import { PASSWORD, USER } from './dav-service.ts';

const execute = promisify(execFile);

/**
 * Locks files, uploads them when they are closed instead of seconds later, and soon notices other changes. `buf_size`: since Linux 6.16, the kernel
 * reads folders in larger pieces than davfs2 1.6 accepts by default.
 */
const CONFIGURATION = `
use_locks 1
ask_auth 0
delay_upload 0
buf_size 128
dir_refresh 1
retry 1
max_retry 1
`;

/** A mounted server. */
export interface Mount {
  /** Where it is mounted. */
  readonly folder: string;
  /** Unmounts it, after davfs2 has uploaded all changes. */
  unmount(): Promise<void>;
}

/** Mounts the WebDAV server at the URL with davfs2, until its owner ends. */
export async function mountDavfs2(t: Owner, url: string): Promise<Mount> {
  assertDeclared('davfs2');
  const home = await temporaryFolder(t);
  const [folder, cache] = [join(home, 'mounted'), join(home, 'cache')];
  const [configuration, secrets] = [join(home, 'davfs2.conf'), join(home, 'secrets')];
  await Promise.all([mkdir(folder), mkdir(cache)]);
  // The daemon runs as the user and the group davfs2, and requires exactly these permissions.
  await chmod(home, 0o755);
  await chown(cache, 0, await groupOfDavfs2());
  await chmod(cache, 0o775);
  await writeFile(configuration, `${CONFIGURATION}cache_dir ${cache}\nsecrets ${secrets}\n`);
  await writeFile(secrets, `${url} ${USER} "${PASSWORD}"\n`, { mode: 0o600 });
  const pidFile = `/run/mount.davfs/${folder.slice(1).replaceAll('/', '-')}.pid`;
  let isMounted = true;
  let pid: number | undefined;
  atEnd(t, async () => {
    if (!isMounted) return;
    await rm(pidFile, { force: true });
    if (pid !== undefined && isRunning(pid)) process.kill(pid, 'SIGKILL');
    await execute('umount', ['--internal-only', '--lazy', folder]);
  });
  await startDaemon(['-o', `conf=${configuration},uid=0,gid=0`, url, folder], join(home, 'errors'));
  const daemon = await readPid(pidFile);
  pid = daemon;
  return {
    folder,
    async unmount() {
      // Without the helper of davfs2, which checks only every three seconds whether the daemon has ended.
      await execute('umount', ['--internal-only', folder]);
      isMounted = false;
      await until('davfs2 has uploaded all changes', () => !isRunning(daemon));
    },
  };
}

/** Starts the daemon, which inherits its standard output: with pipes, the command would not end before the daemon. */
async function startDaemon(args: readonly string[], errors: string): Promise<void> {
  await using file = await open(errors, 'w');
  const child = spawn('mount.davfs', args, { stdio: ['ignore', 'ignore', file.fd] });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0, await readFile(errors, 'utf8'));
}

async function groupOfDavfs2(): Promise<number> {
  const [, id] = /^davfs2:[^:]*:(\d+):/m.exec(await readFile('/etc/group', 'utf8')) ?? [];
  assert.ok(id !== undefined, 'The group davfs2 exists.');
  return Number(id);
}

/** Returns the process ID of the daemon, which writes the file after the command has ended. */
async function readPid(file: string): Promise<number> {
  return Number(await until('davfs2 runs', () => readFile(file, 'utf8').catch(() => undefined)));
}
